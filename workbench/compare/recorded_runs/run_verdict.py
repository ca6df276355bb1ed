"""The verdict on recorded runs that were not measured in lockstep."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from workbench.compare.recorded_runs.final_losses import FinalLosses
from workbench.compare.rounds.statistics import Ratio
from workbench.compare.verdict import BADGES, NO_RATIO, Verdict, ratio_clause
from workbench.display.number_format import significant
from workbench.settings.setting_labels import label_in_sentence

MOST_RATIOS = 2
"""Of more runs, the sentence has the highest ratio and the lowest."""
MOST_SETTINGS = 4
"""Largest number of settings that are named."""
OF_NO_SPEED = frozenset(
    {
        *("learning_rate", "lr_schedule", "lr_warmup_steps", "lr_power", "weight_decay"),
        *("seed", "steps", "epochs", "early_stopping", "loss"),
    }
)
"""Settings that hardly change the throughput: what differs on a machine that is not known to be
quiet is its load alone."""
NO_LOSSES = FinalLosses("")


def unpaired_verdict(
    ratios: Mapping[str, float],
    reference: str,
    *,
    losses: FinalLosses = NO_LOSSES,
    differing: Sequence[str] = (),
    days: int = 1,
    busy: str = "",
    unknown: bool = False,
    speeds: Mapping[str, float] | None = None,
    unlike: Mapping[str, Sequence[str]] | None = None,
) -> Verdict:
    """The verdict on recorded runs: their losses, which settings differ, and their speeds.

    Args:
        ratios: throughput of each run relative to the reference.
        reference: the run that the others are compared with.
        losses: of the runs.
        differing: settings that differ, other than the engine.
        days: number of distinct days on which they ran.
        busy: a sentence on the runs that were measured on a busy machine; empty: there are none.
        unknown: whether it is not known of some whether it was busy.
        speeds: throughput of each run, in samples per second; named of those in `unlike`.
        unlike: of each run whose speed does not compare with the reference's: what is different,
            "model", "dataset", "measurement". Their ratios are ignored.
    """
    unlike = unlike or {}
    known = {
        name: ratio
        for name, ratio in ratios.items()
        if name not in (reference, *unlike) and math.isfinite(ratio)
    }
    of_load = (busy or unknown) and differing and OF_NO_SPEED.issuperset(differing)
    if of_load:
        known = {}
    apart = _unlike(reference, speeds or {}, unlike)
    sentences = [each for each in (losses.sentence, _settings(differing)) if each]
    line = len(sentences)
    if busy:
        sentences.append(busy)
    if known:
        when = "on different days" if days > 1 else "separately"
        doubt = "As measured, " if busy else ""
        said = f"{doubt}{_clauses(known, reference)}; measured {when}, without an interval."
        sentences.append(said)
    elif not apart and not busy and not of_load:
        why = "there is only one run" if len(ratios) < 2 else "fewer than two runs were measured"
        sentences.append(f"There is no ratio: {why}.")
    sentences.append(apart)
    sentence = "\n".join(filter(None, sentences))
    if busy:
        return Verdict(sentence, BADGES["busy"], "busy", line)
    if of_load:
        return Verdict(sentence, BADGES["unknown"], "unknown", line)
    if not known:
        return Verdict(sentence, NO_RATIO, "none", line)
    return Verdict(sentence, BADGES["unpaired"], "unpaired", line)


def _settings(names: Sequence[str]) -> str:
    if not names:
        return ""
    labels = [label_in_sentence(name) for name in names]
    if len(labels) > MOST_SETTINGS:
        labels[MOST_SETTINGS - 1 :] = [f"{len(labels) - MOST_SETTINGS + 1} others"]
    return f"Settings that differ: {', '.join(labels)}."


def _clauses(ratios: Mapping[str, float], reference: str) -> str:
    names = [*ratios]
    if len(names) > MOST_RATIOS:
        by_ratio = sorted(names, key=ratios.__getitem__, reverse=True)
        names = [by_ratio[0], by_ratio[-1]]
    said = [
        ratio_clause(name, reference, Ratio(ratios[name], math.nan, math.nan), paired=False)
        for name in names
    ]
    return "; ".join(said)


def _unlike(
    reference: str, speeds: Mapping[str, float], unlike: Mapping[str, Sequence[str]]
) -> str:
    """The speeds of runs that do not compare with the reference, and why, in a sentence."""
    if not unlike:
        return ""
    known = [name for name in (reference, *unlike) if math.isfinite(speeds.get(name, math.nan))]
    figures = [f"{name}: {significant(speeds[name])}" for name in known]
    what = dict.fromkeys(f"{each}s" for parts in unlike.values() for each in parts)
    why = f"different {' and '.join(what)}"
    said = f"Samples per second: {'; '.join(figures)}; {why}" if figures else why.capitalize()
    return f"{said}: their speeds do not compare."
