"""One sentence says what the ratios mean, how sure they are and whether the machine was quiet."""

from __future__ import annotations

import math

import pytest

from workbench.compare.rounds.statistics import Ratio
from workbench.compare.verdict import short_verdict, verdict_of
from workbench.machine.load import Load

QUIET = Load(wall_s=10.0, other_s=0.1, cores=2)
BUSY = Load(wall_s=10.0, other_s=14.0, cores=2)
ONE = Ratio(1.0, 1.0, 1.0)


def sentence(ratio: Ratio, load: Load | None = QUIET) -> str:
    return verdict_of({"pytorch": ONE, "ondevice": ratio}, "pytorch", load, 2).sentence


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        (Ratio(1.8, 1.6, 2.0), "ondevice is 1.8 times as fast as pytorch (1.6 to 2.0)"),
        (Ratio(1.04, 1.02, 1.06), "ondevice is 1.04 times as fast as pytorch (1.02 to 1.06)"),
        (
            Ratio(0.8, 0.75, 0.85),
            "ondevice is slower, 0.80 times as fast as pytorch (0.75 to 0.85)",
        ),
        (
            Ratio(0.00093, 0.0009, 0.00096),
            "ondevice is slower, taking 1,080 times as long as pytorch (1,040 to 1,110)",
        ),
        (Ratio(312.4, 300.0, 320.0), "ondevice is 312 times as fast as pytorch (300 to 320)"),
        (
            Ratio(1.02, 0.97, 1.05),
            "no difference seen between ondevice and pytorch (0.970 to 1.05)",
        ),
        (
            Ratio(1.5, math.nan, math.nan),
            "ondevice is 1.5 times as fast as pytorch (too few rounds for an interval)",
        ),
    ],
)
def test_a_ratio_is_stated_with_its_interval(ratio: Ratio, said: str) -> None:
    assert sentence(ratio) == f"{said}; the machine was quiet while this was measured."


def test_an_interval_that_only_touches_1_is_no_difference() -> None:
    assert sentence(Ratio(1.3, 1.0, 1.6)).startswith("no difference seen")


def test_a_busy_machine_is_mentioned_with_its_load() -> None:
    ratios = {"pytorch": ONE, "ondevice": Ratio(1.8, 1.6, 2.0)}
    verdict = verdict_of(ratios, "pytorch", BUSY, 2)
    assert verdict.sentence == (
        "Do not trust these ratios, as the machine was busy (other programs used 1.4 of 2 cores): "
        "ondevice is 1.8 times as fast as pytorch (1.6 to 2.0). Compare again once the machine is "
        "quiet."
    )
    assert (verdict.badge, verdict.level) == ("machine was busy", "busy")
    # The same in the bar, which has room for a few words.
    assert short_verdict(ratios, "pytorch", "busy") == "Do not trust: ondevice 1.8× (1.6 to 2.0)"  # noqa: RUF001
    unknown = verdict_of(ratios, "pytorch", None, 2)
    assert "it is not known whether the machine was quiet" in unknown.sentence
    assert unknown.level == "unknown"
    ratio = short_verdict(ratios, "pytorch", "quiet")
    assert ratio == "ondevice 1.8× (1.6 to 2.0)"  # noqa: RUF001
    assert short_verdict(ratios, "pytorch", "unknown") == f"Load not known: {ratio}"


def test_the_ratio_of_recorded_runs_is_read_also_where_their_long_names_are_cut_off() -> None:
    runs = {"ondevice · 07:23:50": ONE, "ondevice · 07:22:29": Ratio(2.47, math.nan, math.nan)}
    said = short_verdict(runs, "ondevice · 07:23:50", "unpaired", paired=False)
    assert said == "≈ 2.5× ondevice · 07:22:29 vs ondevice · 07:23:50"  # noqa: RUF001


def test_several_engines_are_one_sentence() -> None:
    ratios = {"ondevice": Ratio(2.0, 1.9, 2.1), "pytorch": ONE, "ortmodule": Ratio(1.0, 0.9, 1.1)}
    verdict = verdict_of(ratios, "pytorch", QUIET, 3)
    assert verdict.sentence == (
        "ondevice is 2.0 times as fast as pytorch (1.9 to 2.1), no difference seen between "
        "ortmodule and pytorch (0.900 to 1.10); the machine was quiet while this was measured."
    )
    assert short_verdict(ratios, "pytorch", "quiet") == "ondevice 2.0×, ortmodule: no difference"  # noqa: RUF001
    assert short_verdict({"pytorch": ONE}, "pytorch", "busy") == "no ratio"


def test_rounds_that_differ_on_a_quiet_machine_are_mentioned() -> None:
    ratios = {"ondevice": Ratio(3.5, 3.3, 4.5), "pytorch": ONE}
    variations = {"pytorch": 5.24, "ondevice": 1.9}
    verdict = verdict_of(ratios, "pytorch", QUIET, 2, variations)
    assert verdict.sentence == (
        "ondevice is 3.5 times as fast as pytorch (3.3 to 4.5); the machine was quiet while "
        "this was measured, but speeds differed between rounds of measuring (pytorch by 5.2 "
        "times): these ratios are of typical rounds, not of whole runs."
    )
    assert verdict.level == "quiet"


@pytest.mark.parametrize(("engines", "why"), [(1, "only one engine"), (2, "fewer than two")])
def test_without_a_ratio_it_says_why(engines: int, why: str) -> None:
    nothing = Ratio(math.nan, math.nan, math.nan)
    verdict = verdict_of({"pytorch": nothing, "fake": nothing}, "pytorch", QUIET, engines)
    assert why in verdict.sentence
    assert verdict.level == "none"
    busy = verdict_of({"pytorch": nothing}, "pytorch", BUSY, engines)
    assert busy.sentence.startswith("Do not trust these figures, as the machine was busy (other ")
    assert f" as {'there is ' if engines == 1 else ''}{why}" in busy.sentence
    again = "choose another to compare it with." if engines == 1 else "once the machine is quiet."
    assert busy.sentence.endswith(again)
    assert busy.level == "busy"
