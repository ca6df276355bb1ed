"""The record of each sample, and the document made of it."""

from __future__ import annotations

from tests.mutants.__main__ import without_edited
from tests.mutants.report import DOCUMENT, AreaResult, Sample, Survivor, document, read_results

LOST = Survivor("workbench/x.py", 3, "a → b")


def test_the_document_counts_and_says_why() -> None:
    samples = [Sample(0, 10, None, []), Sample(7, 20, first=17, survivors=[LOST])]
    text = document({"worker": AreaResult(90, samples)})
    assert "| worker | 90 | 0 | 10 | not recorded | 10, 100 % |" in text
    assert "| worker | 90 | 7 | 20 | 17, 85 % | 19, 95 % |" in text
    assert "| **all** | | | 30 | 17, 85 % of 20 | 29, 97 % |" in text
    assert "Not tried yet, and not in the sum: runs, compare, events" in text
    assert "- `workbench/x.py`, line 3: `a → b`\n  **No reason is known" in text


def test_the_newest_sample_is_the_estimate_for_the_faults_not_tried() -> None:
    old, new = Sample(7, 20, 17, [], "2026-11-20"), Sample(8, 10, 9, [LOST], "2026-11-22", True)
    unknown = Sample(1, 5, None, [])
    results = {
        "worker": AreaResult(90, [old, new, unknown]),
        "runs": AreaResult(90, [new, old._replace(day="")]),
        "compare": AreaResult(90, [unknown]),
        "events": AreaResult(5, [unknown]),
    }
    text = document(results)
    assert "| worker | 55 | 9 of 10 or more, by some of the tests | 90 % | 2026-11-22 |" in text
    assert "| runs | 60 | 17 of 20 | 85 % | not recorded |" in text
    assert "| compare | 85 | not recorded | | |" in text
    assert "| events | 0 | – | | |" in text  # noqa: RUF001


def test_a_sample_takes_the_place_of_that_of_its_seed() -> None:
    one, two, again = Sample(1, 5, 5, []), Sample(2, 5, 4, [LOST]), Sample(1, 9, 8, [LOST])
    both = AreaResult(30, [one]).with_sample(31, two)
    assert both == AreaResult(31, [one, two])
    assert (both.tried, both.found, both.survivors) == (10, 9, [LOST])
    assert both.with_sample(31, again) == AreaResult(31, [two, again])
    assert both.with_sample(31, every := Sample(0, 31, 31, [])) == AreaResult(31, [every])


def test_later_results_are_added_to_earlier_ones() -> None:
    moved, other = LOST._replace(line=9), LOST._replace(change="c → d")
    before = AreaResult(30, [Sample(1, 5, 3, [LOST, other]), Sample(2, 5, 4, [LOST])])
    after = before.with_survivors([moved])
    assert after == AreaResult(30, [Sample(1, 5, 3, [moved]), Sample(2, 5, 4, [moved])])
    assert [sample.found for sample in after.samples] == [4, 4]


def test_a_fault_in_a_line_that_was_edited_since_is_not_found_by_that() -> None:
    kept, edited = (Survivor("workbench/x.py", line, f"{line} → b") for line in (3, 4))
    before = AreaResult(30, [Sample(0, 10, 8, [kept, edited])])
    after = without_edited(before, [kept._replace(line=7), edited._replace(change="c → b")])
    assert after.samples == [Sample(0, 9, 8, [kept])]
    assert after.found == before.found


def test_the_document_is_that_of_the_results() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(read_results())
