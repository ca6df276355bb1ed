"""The result of `wb.tune`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from workbench.compare.rounds.statistics import ratio
from workbench.errors import ConfigError, EngineError, nearest
from workbench.files.output_file import output_path
from workbench.machine.load import Load
from workbench.settings.config import TrainingConfig
from workbench.settings.engines import GraphKind, engine_info
from workbench.settings.kernel_variants import DEFAULT, VARIANTS
from workbench.tuning_results.record import Entry, Family, Measured, TuningRecord
from workbench.tuning_results.storage import write_tuning

CLEARLY_FASTER = 0.97
"""Another variant than the default is chosen where the interval of its ratio ends below this."""


@dataclass(frozen=True, slots=True, repr=False)
class Tuning:
    """Measurements and choices of `wb.tune`, one entry for each engine."""

    record: TuningRecord

    @property
    def entries(self) -> tuple[Entry, ...]:
        return self.record.entries

    def settings(self, engine: str) -> dict[str, Any]:
        """The settings that were chosen, for `wb.train` and others; empty for the default.

        `settings("ortmodule").get("ortmodule")` are the `options` of an `ORTModule` that is wrapped
        by hand.
        """
        found = {entry.engine: entry for entry in self.entries}
        if engine not in found:
            raise ConfigError([f"{engine!r} was not tuned. {nearest(engine, found)}"])
        entry = found[engine]
        graphs = engine_info(engine).graphs
        assert graphs is not None, "an entry is of an engine with variants"
        chosen = VARIANTS[graphs][entry.chosen].settings(graphs, entry.threads)
        if entry.operator_kernels:
            nested = graphs == GraphKind.ORTMODULE
            place = chosen.setdefault("ortmodule", {}) if nested else chosen
            place["operator_kernels"] = entry.operator_kernels
        return chosen

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a file for the setting `tuning`.

        Raises:
            EngineError: it cannot be written.
        """
        target = output_path(path, EngineError)
        write_tuning(self.record, target)
        return target

    def to_dict(self) -> dict[str, Any]:
        """The result in JSON types, as `save` writes it."""
        return self.record.model_dump(mode="json")

    def __str__(self) -> str:
        lines = []
        for entry in self.entries:
            lines.append(entry.title)
            width = max(len(text) for text, _ in [*rows(entry), *family_rows(entry)])
            lines += [f"  {text:<{width}}  {figures}" for text, figures in rows(entry)]
            if entry.families:
                lines.append("  on top of it, over the fastest before:")
            lines += [f"  {text:<{width}}  {figures}" for text, figures in family_rows(entry)]
            lines.append(f"  chosen: {entry.sentence}.")
            lines += [f"  {each}" for each in notes(entry)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        parts = []
        for entry in self.entries:
            body = "".join(
                f"<tr><td style='text-align:left'>{escape(text)}</td>"
                f"<td>{escape(figures)}</td></tr>"
                for text, figures in [*rows(entry), *family_rows(entry)]
            )
            said = " ".join([f"Chosen: {entry.sentence}.", *notes(entry)])
            parts.append(
                f"<table><caption>{escape(entry.title)}</caption>{body}</table>"
                f"<div>{escape(said)}</div>"
            )
        return "".join(parts)


def rows(entry: Entry) -> list[tuple[str, str]]:
    """The description of each variant and its figures, the fastest first."""
    return [
        (
            entry.described(each.variant),
            f"{each.step_ms:8.2f} ms  {each.ratio:.2f} ({each.low:.2f} to {each.high:.2f})",
        )
        for each in sorted(entry.measured, key=lambda each: each.ratio)
    ]


def family_rows(entry: Entry) -> list[tuple[str, str]]:
    """Each family by another library and its figures, in the order in which they were tried."""
    return [
        (
            f"{each.sentence} ({each.share:.0%} of the step)",
            _figures(each),
        )
        for each in entry.families
    ]


def _figures(family: Family) -> str:
    if family.ratio is None or family.low is None or family.high is None:
        return family.problem
    chosen = "; chosen" if family.chosen else ""
    why_not = f"; {family.problem}" if family.problem else ""
    return f"{family.ratio:.2f} ({family.low:.2f} to {family.high:.2f}){chosen}{why_not}"


def notes(entry: Entry) -> list[str]:
    """Notes for readers of the figures."""
    said = [f"Ratios to the default: medians of {entry.rounds} rounds, with 95 % intervals."]
    if entry.problem:
        said.append(f"Families of operators were not tried: {entry.problem}")
    if entry.disturbed:
        said.append(
            f"Other programs used {entry.other_cores:.1f} cores meanwhile: other kernels may be "
            "faster on an idle machine. Tune again when it is idle."
        )
    return said


def as_entry(
    config: TrainingConfig,
    model: str,
    shapes: str,
    rounds: Mapping[str, np.ndarray],
    load: Load | None,
    now_s: float,
) -> Entry:
    """The entry of a measurement, with the variant that it selects.

    Args:
        config: settings of the engine, without any variant.
        model: its name.
        shapes: see `shape_class`.
        rounds: (rounds,) seconds of a step, by variant.
        load: CPU time of other programs.
        now_s: time of the measurement, in seconds since 1970.
    """
    measured = []
    for variant, seconds in rounds.items():
        found = ratio(seconds, rounds[DEFAULT])
        measured.append(
            Measured(
                variant=variant,
                step_ms=1e3 * float(np.median(seconds)),
                ratio=found.median,
                low=found.low,
                high=found.high,
            )
        )
    return Entry(
        engine=config.engine,
        model=model,
        shapes=shapes,
        batch_size=config.batch_size,
        threads=config.threads,
        chosen=fastest(measured),
        measured=tuple(measured),
        rounds=len(rounds[DEFAULT]),
        other_cores=None if load is None else max(0.0, load.other_cores),
        time=now_s,
    )


def fastest(measured: list[Measured]) -> str:
    """The variant with the smallest ratio of those that are clearly faster; else the default."""
    clear = [each for each in measured if each.high < CLEARLY_FASTER]
    return min(clear, key=lambda each: each.ratio).variant if clear else DEFAULT
