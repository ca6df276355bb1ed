"""The status of the page."""

from __future__ import annotations

from workbench.widgets.page.status import Status, time_left


def test_the_status_shows_its_message() -> None:
    status = Status()
    status.show("busy", "Training.", "step 3 of 9", 0.3, 200.0)
    assert (status.level, status.detail, status.progress) == ("busy", "step 3 of 9", 0.3)
    assert status.left == "about 3 min left"
    assert [time_left(seconds) for seconds in (-1, 0.2, 80, 7200)] == [
        *("", "about 1 s left", "about 80 s left", "about 2.0 h left")
    ]
