"""Ratios and their intervals."""

import numpy as np
import pytest

from workbench.compare.rounds.statistics import largest_difference, ratio, speeds_of, variation


def test_the_ratio_is_the_median_over_rounds_and_its_interval_holds_it() -> None:
    random = np.random.default_rng(1)
    disturbance = random.uniform(0.2, 1.0, 40)  # meets both engines alike
    result = ratio(300 * disturbance * random.normal(1, 0.01, 40), 100 * disturbance)
    assert result.low <= result.median <= result.high
    assert result.median == pytest.approx(3.0, rel=0.01)
    assert result.high - result.low < 0.05


def test_the_interval_covers_the_true_median_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(2)
    covered = 0
    for _ in range(200):
        result = ratio(random.normal(2.0, 0.3, 20), np.ones(20))
        covered += result.low <= 2.0 <= result.high
    assert 0.88 <= covered / 200 <= 0.99


def test_nothing_measured_is_not_a_number() -> None:
    assert np.isnan(ratio(np.empty(0), np.empty(0))).all()
    assert np.isnan(largest_difference(np.empty(0), np.ones(3)))


@pytest.mark.parametrize("rounds", [1, 5])
def test_too_few_rounds_have_no_interval(rounds: int) -> None:
    result = ratio(np.full(rounds, 4.0), np.full(rounds, 2.0))
    assert result.median == 2.0
    assert np.isnan(result.low)
    assert np.isnan(result.high)
    assert ratio(np.full(6, 4.0), np.full(6, 2.0)) == (2.0, 2.0, 2.0)


def disturbed(kind: str) -> dict[str, np.ndarray]:
    """Rounds of three engines, of which the second is 1.05 times as fast as the first."""
    random = np.random.default_rng(3)
    common = np.ones(20)
    if kind == "drift":  # the machine slows down for all alike, in the middle of a round
        common = np.r_[np.full(10, 1.0), np.full(10, 0.3)]
    noise = {name: random.normal(1, 0.002, 20) for name in ("pytorch", "ondevice", "ortmodule")}
    rounds = {
        "pytorch": 100 * common * noise["pytorch"],
        "ondevice": 105 * common * noise["ondevice"],
        "ortmodule": 40 * common * noise["ortmodule"],
    }
    if kind in ("hiccup", "drift"):
        rounds["ondevice"][9] /= 20
    if kind == "hiccups":
        for name, at in (("pytorch", 2), ("ondevice", 5), ("ondevice", 19), ("ortmodule", 7)):
            rounds[name][at] /= 50
    return rounds


@pytest.mark.parametrize("kind", ["quiet", "hiccup", "hiccups", "drift"])
def test_throughput_and_ratio_cannot_contradict_each_other(kind: str) -> None:
    rounds = disturbed(kind)
    found = speeds_of(rounds, "pytorch")
    reference = found["pytorch"]
    assert reference.samples_per_s == np.median(rounds["pytorch"])
    assert reference.ratio == (1.0, 1.0, 1.0)
    for speed in found.values():
        quotient = speed.samples_per_s / reference.samples_per_s
        assert speed.ratio.median == pytest.approx(quotient, rel=1e-12)
        assert speed.rounds == 20
    by_throughput = sorted(found, key=lambda engine: found[engine].samples_per_s)
    by_ratio = sorted(found, key=lambda engine: found[engine].ratio.median)
    assert by_throughput == by_ratio == ["ortmodule", "pytorch", "ondevice"]
    assert found["ondevice"].ratio.median == pytest.approx(1.05, rel=0.005)


def test_a_mean_or_medians_of_their_own_would_contradict_the_ratio() -> None:
    """So that the data above stay those that tell definitions apart."""
    hiccup, drift = disturbed("hiccup"), disturbed("drift")
    means = {engine: 1 / np.mean(1 / rounds) for engine, rounds in hiccup.items()}
    assert means["ondevice"] < means["pytorch"]
    medians = {engine: np.median(rounds) for engine, rounds in drift.items()}
    assert medians["ondevice"] < medians["pytorch"]


def test_an_engine_that_ended_early_is_measured_over_the_rounds_it_shared() -> None:
    rounds = disturbed("quiet")
    rounds["ondevice"] = rounds["ondevice"][:4]
    found = speeds_of(rounds, "pytorch")
    assert [found[name].rounds for name in rounds] == [20, 4, 20]
    assert found["ondevice"].samples_per_s == pytest.approx(
        found["ondevice"].ratio.median * found["pytorch"].samples_per_s
    )
    rounds["ondevice"] = np.empty(0)
    assert np.isnan(speeds_of(rounds, "pytorch")["ondevice"].samples_per_s)


def test_without_the_reference_there_is_throughput_and_no_ratio() -> None:
    rounds = disturbed("quiet")
    for reference_rounds in (np.empty(0), None):
        if reference_rounds is None:
            del rounds["pytorch"]
        else:
            rounds["pytorch"] = reference_rounds
        found = speeds_of(rounds, "pytorch")
        assert found["ondevice"].samples_per_s == np.median(rounds["ondevice"])
        assert found["ondevice"].rounds == 20
        assert np.isnan(found["ondevice"].ratio).all()


def test_losses_are_compared_step_by_step() -> None:
    assert largest_difference(np.array([1.0, 2.0]), np.array([1.0, 2.5, 9.0])) == 0.5


def test_the_variation_is_of_the_bulk_of_the_rounds() -> None:
    rounds = np.full(40, 30_000.0)
    rounds[:1] = 1_000  # one round is no habit
    assert variation(rounds) == 1
    rounds[:6] = 5_000
    assert variation(rounds) == 6
    assert np.isnan(variation(rounds[:5]))
