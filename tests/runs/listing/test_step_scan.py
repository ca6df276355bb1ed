"""The bytes read of an event log, and the numbers computed from them, to the last digit."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import numpy as np
import psutil
import pytest

from workbench.run_folder import step_columns
from workbench.run_folder.step_columns import written_durations, written_losses
from workbench.runs.listing import step_scan
from workbench.runs.listing.step_scan import StepScan, _numbers

HEAD = '{"event": "steps", "time": 1.5e9, "first_step": '


@pytest.fixture(autouse=True, params=["lists", "packed"])
def _form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How the steps of `record_of` are written."""
    monkeypatch.setattr(step_columns, "PACKED", 10**6 if request.param == "lists" else 1)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Length and place of all that is read."""
    found: list[tuple[int, int]] = []
    pread = os.pread

    def record(file: int, length: int, offset: int) -> bytes:
        if length:
            found.append((length, offset))
        return pread(file, length, offset)

    monkeypatch.setattr(step_scan.os, "pread", record)
    return found


def record_of(first_step: int, losses: list[float], size: int = 0, nanoseconds: int = 10**9) -> str:
    """A line of steps of ten samples, as a worker writes it, of `size` bytes."""
    texts = json.dumps(written_losses(losses))
    times = json.dumps(written_durations([nanoseconds] * len(losses)))
    line = (
        f'{HEAD}{first_step}, "losses": {texts}, "nanoseconds": {times}, "batch_size": 10, '
        '"steps_per_epoch": 3, "rss_bytes": 1'
    )
    return f"{line}{' ' * max(0, size - len(line) - 2)}}}\n"


def other(size: int) -> str:
    """A line of `size` bytes that says nothing of steps."""
    text = '{"event": "phase", "time": 1.0, "text": ""}\n'
    return text.replace('""', f'"{"." * (size - len(text))}"')


def scanned(log: Path, text: str, warmup_steps: int = 0) -> StepScan:
    log.write_bytes(text.encode())
    scan = StepScan(warmup_steps)
    scan.catch_up(log)
    return scan


def test_before_anything_is_read_nothing_is_known(log: Path) -> None:
    for scan in (StepScan(3), scanned(log, ""), StepScan(0)):
        scan.catch_up(log.with_name("nowhere"))
        scan.read_end(log.with_name("nowhere"))
        assert (scan.steps, scan.state, scan.evaluation) == (0, "starting", None)
        assert (scan.sampled, scan.curve.points()) == (False, ())
        assert math.isnan(scan.last_loss)
        assert math.isnan(scan.best_loss)
        assert math.isnan(scan.samples_per_s)


def test_up_to_64_kib_are_read_whole(log: Path, reads: list[tuple[int, int]]) -> None:
    """Also of what follows: so many new bytes."""
    text = "".join(record_of(step + 1, [9.0 - step / 100], 256) for step in range(255))
    scan = scanned(log, text + other(256))
    assert log.stat().st_size == 65536
    assert reads == [(65536, 0)]
    assert (scan.sampled, scan.steps) == (False, 255)
    with log.open("a") as file:
        file.write(other(65536))
    scan.catch_up(log)
    assert (reads[1:], scan.sampled) == ([(65536, 65536)], False)
    reads.clear()
    longer = scanned(log, text + other(257))
    assert reads[0] == (1, 0), "all but the last 64 KiB"
    assert (longer.sampled, longer.steps) == (True, 255)


def test_of_a_longer_log_48_places_and_the_end_are_read(
    log: Path, reads: list[tuple[int, int]]
) -> None:
    """The last 64 KiB are left for the end; the lowest loss is that of those that were read."""
    losses = [6000.0 - step for step in range(1, 4801)]
    losses[1000], losses[1001] = 0.5, 0.25
    lines = [record_of(step, [loss], 200) for step, loss in enumerate(losses, 1)]
    scan = scanned(log, "".join(lines))
    assert log.stat().st_size == 960_000
    # 48 * 20,000 bytes; from 894,464 on the end is.
    sampled = [(1024, 20_000 * place) for place in range(45)]
    assert reads == [*sampled, (4096, 955_904)]
    assert (scan.sampled, scan.steps, scan.last_loss) == (True, 4800, losses[-1])
    assert (scan.best_loss, scan.samples_per_s) == (0.5, 10.0)
    known = [100 * place + 1 for place in range(45)] + list(range(4781, 4801))
    width = 128
    bins = [[s for s in known if (s - 1) // width == at] for at in range(-(-4800 // width))]
    means = {
        at: sum(losses[s - 1] for s in each) / len(each) for at, each in enumerate(bins) if each
    }
    assert len(means) < len(bins)
    # Between what was read the curve goes straight on.
    shown = np.interp(range(len(bins)), list(means), list(means.values()))
    assert scan.curve.points() == pytest.approx(shown)
    reads.clear()
    scan.catch_up(log)
    assert reads == []


@pytest.mark.parametrize("steps", [330, 500, 1000, 2500])
def test_of_a_log_of_middle_size_the_second_half_is_not_left_out(log: Path, steps: int) -> None:
    """Steps become faster: the mean of a few of the last is no throughput of the run."""
    losses = [1.0 + 1.0 / step for step in range(1, steps + 1)]
    lines = [
        record_of(step, [loss], 200, nanoseconds=10**9 // (1 + step // 10))
        for step, loss in enumerate(losses, 1)
    ]
    scan = scanned(log, "".join(lines))
    assert scan.sampled
    points = scan.curve.points()
    width = -(-steps // len(points))
    for place in range(1, len(points) - 1):
        middle = losses[min(steps - 1, place * width + width // 2)]
        assert points[place] == pytest.approx(middle, rel=0.02)
    assert scan.samples_per_s < 0.97 * 10 * (1 + steps // 10)


@pytest.mark.parametrize("steps_per_record", [1, 18, 44, 400])
def test_throughput_of_a_longer_log_is_that_of_the_whole_run(
    log: Path, steps_per_record: int
) -> None:
    """The steps become three times as slow towards the end."""
    records = 400_000 // (40 * steps_per_record)
    times = [10**6 * (1 + 2 * place // records) for place in range(records)]
    lines = [
        record_of(1 + place * steps_per_record, [0.123456789] * steps_per_record, nanoseconds=time)
        for place, time in enumerate(times)
    ]
    scan = scanned(log, "".join(lines))
    assert scan.sampled
    assert scan.samples_per_s == pytest.approx(10 * records / sum(times) * 1e9, rel=0.15)


def test_of_a_long_record_eight_losses_are_taken(log: Path, reads: list[tuple[int, int]]) -> None:
    """Twice as much is read each time until there are so many."""
    low = [3.0] * 7 + [0.2, 0.1, 3.0, 3.0, 3.0]
    high = [4.0] * 12
    lines = [
        record_of(12 * place + 1, high if place in range(40, 44) else low, 10_000)
        for place in range(47)
    ]
    lines = [*lines[:40], *(record_of(12 * p + 1, high, 10_000) for p in range(40, 47))]
    scan = scanned(log, other(5000) + "".join(lines) + other(5000))
    assert log.stat().st_size == 480_000
    sampled = [
        (length, 10_000 * place + before)
        for place in range(41)
        for length, before in ((1024, 0), (2048, 1024), (4096, 3072))
    ]
    # The next would reach over 414,464, where the last 64 KiB begin.
    sampled += [(1024, 410_000), (2048, 411_024), (1392, 413_072)]
    assert reads == [*sampled, (65_536, 414_464)]
    assert scan.best_loss == 0.2, "the eighth, and not the ninth"
    assert (scan.steps, scan.last_loss) == (47 * 12, 4.0)


@pytest.mark.parametrize(("end_of_head", "more"), [(767, False), (768, True)])
def test_more_is_read_where_too_little_of_a_record_is_in_a_sample(
    log: Path, reads: list[tuple[int, int]], end_of_head: int, more: bool
) -> None:
    """32 bytes for each of eight losses."""
    start = end_of_head - len(f'{HEAD}1, "losses": [')
    text = other(start) + record_of(1, [1.0] * 8) + other(70_000)
    scanned(log, text)
    assert ((2048, 1024) in reads[:2]) == more


def test_the_losses_of_a_cut_record_are_those_that_are_whole(log: Path) -> None:
    """Of one that is longer than every sample: the eight that begin it."""
    losses = [5.0, 4.0, 3.0, 2.0, 1.0, 1.5, 2.5, 3.5, 0.5]
    rest = ", 9.0" * 20_000
    line = f'{HEAD}1, "losses": [{", ".join(map(repr, losses))}{rest}], '
    scan = scanned(log, f'{line}"nanoseconds": [7]}}\n{record_of(20_010, [8.0])}')
    assert scan.best_loss == 1.0
    assert (scan.steps, scan.last_loss) == (20_010, 8.0)


def test_the_end_is_read_until_a_record_is_in_it(log: Path, reads: list[tuple[int, int]]) -> None:
    before = 1_000_000 - 512 * 1024
    after = other(512 * 1024 - 1 - 300)
    log.write_bytes((other(before + 1) + record_of(7, [0.5], 300) + after).encode())
    scan = StepScan(0)
    scan.read_end(log)
    assert log.stat().st_size == 1_000_000
    assert reads == [(4096, 995_904), (65_536, 934_464), (524_288, 475_712)]
    assert (scan.steps, scan.last_loss, scan.sampled) == (7, 0.5, False)


def test_a_short_log_is_its_own_end(log: Path, reads: list[tuple[int, int]]) -> None:
    log.write_bytes(record_of(1, [2.0, 0.5], 4096).encode())
    scan = StepScan(0)
    scan.read_end(log)
    assert reads == [(4096, 0)]
    assert (scan.steps, scan.last_loss) == (2, 0.5)
    log.write_bytes((record_of(1, [2.0], 300) + other(3796)).encode())
    scan = StepScan(0)
    scan.read_end(log)
    assert scan.steps == 1


def test_the_end_has_the_last_of_each_kind_of_event_in_their_order(log: Path) -> None:
    evaluations = [f'{{"event": "evaluation", "time": 1.0, "step": {at}}}\n' for at in (1, 2)]
    steps = [record_of(step, [9.0 - step]) for step in (1, 2, 3)]
    restored = '{"event": "restored", "time": 1.0, "step": 2}\n'
    paused = '{"event": "paused", "time": 1.0}\n'
    unfinished = record_of(4, [1.0])[:-1]
    text = steps[0] + evaluations[0] + steps[1] + evaluations[1] + steps[2] + paused
    for more, known in [
        (unfinished, (3, 6.0, "paused")),
        (restored, (2, 6.0, "paused")),
        (restored + steps[2], (3, 6.0, "running")),
        (record_of(4, [4.0]).replace(": ", ":"), (4, 4.0, "running")),
    ]:  # fmt: skip
        log.write_bytes((text + more).encode())
        scan = StepScan(0)
        scan.read_end(log)
        assert (scan.steps, scan.last_loss, scan.state) == known
        assert scan._evaluation + b"\n" == evaluations[1].encode()


def test_a_log_that_was_cut_since_gives_nothing_more(log: Path) -> None:
    scan = scanned(log, record_of(1, [2.0, 1.0]))
    log.write_bytes(b"")
    scan.catch_up(log)
    assert (scan.steps, scan.last_loss) == (2, 1.0)


def test_logs_are_closed(log: Path) -> None:
    scan = scanned(log, record_of(1, [2.0]))
    before = psutil.Process().num_fds()
    for _ in range(3):
        scan.catch_up(log)
    assert psutil.Process().num_fds() == before


def as_json(line: str) -> str:
    """In another order, as no expression expects it."""
    return line.replace('"event": "steps", "time": 1.5e9', '"time": 1.5e9, "event": "steps"')


@pytest.mark.parametrize("layout", [str, as_json])
def test_throughput_is_of_the_steps_after_the_warm_up(log: Path, layout: type[str]) -> None:
    lines = [
        record_of(1, [1.0, 1.0], nanoseconds=5),
        record_of(3, [1.0, 1.0, 1.0], nanoseconds=2 * 10**9),
        record_of(6, [1.0, 1.0], nanoseconds=3 * 10**9),
    ]
    scan = scanned(log, "".join(map(layout, lines)), warmup_steps=3)
    assert scan.samples_per_s == 40 / (4 + 6)
    assert scan.steps == 7
    all_steps = scanned(log, "".join(map(layout, lines)))
    assert all_steps.samples_per_s == pytest.approx(70 / (12 + 1e-8), rel=1e-14)


@pytest.mark.parametrize(
    "durations",
    [
        '"nanoseconds": [x], "batch_size": 10, ',
        '"nanoseconds": [1.5], "batch_size": 10, ',
        '"nanoseconds": [5, "batch_size": 10, ',
        '"nanoseconds": [5], ',
        '"nanoseconds": "AAAA", "batch_size": 10, ',
        '"nanoseconds": "", "batch_size": 10, ',
        '"nanoseconds": "AAAAAAAAAAA=, "batch_size": 10, ',
        '"batch_size": 10, ',
    ],
)
def test_steps_without_durations_have_losses_and_no_throughput(log: Path, durations: str) -> None:
    scan = scanned(log, f'{HEAD}4, "losses": [0.5], {durations}"rss_bytes": 1}}\n')
    assert (scan.steps, scan.last_loss, scan.best_loss) == (4, 0.5, 0.5)
    assert math.isnan(scan.samples_per_s)


@pytest.mark.parametrize(
    "line",
    [
        f'{HEAD}1, "losses": [1.0, 2.0',
        f'{HEAD}0, "losses": [1.0, 2.0], ',
        f'{HEAD}1, "losses": [], ',
        f'{HEAD}1, "losses": [1.0, x], ',
        f'{HEAD}1, "losses": "AAAAAAAA8D8',
        f'{HEAD}0, "losses": "AAAAAAAA8D8=", ',
        f'{HEAD}1, "losses": "", ',
        f'{HEAD}1, "losses": "AAAAAAAA8D8", ',
        f'{HEAD}1, "losses": "AAAA8D8=", ',
        '{"event": "steps"}',
        '{"time": 1.0, "event": "steps", "first_step": 0, "losses": [1.0]}',
        "nothing",
    ],
)
def test_a_line_that_is_no_record_of_steps_is_left_out(log: Path, line: str) -> None:
    scan = scanned(log, f"{line}\n")
    assert (scan.steps, scan.curve.points()) == (0, ())
    scan = scanned(log, f"{line}\n{record_of(1, [3.0])}")
    assert (scan.steps, scan.curve.points(), scan.samples_per_s) == (1, (3.0,), 10.0)


@pytest.mark.parametrize("layout", ['"event": "{}", "time": 1.0', '"time": 1.0, "event": "{}"'])
def test_the_state_is_that_of_the_last_event(log: Path, layout: str) -> None:
    scan = StepScan(0)
    for kind, state in [
        ("built", "running"), ("paused", "paused"), ("checkpoint", "paused"),
        ("resumed", "running"), ("started", "starting"), ("built", "running"),
        ("resuming", "starting"), ("unheard", "starting"),
    ]:  # fmt: skip
        event = layout.replace("{}", kind)
        with log.open("a") as file:
            more = ', "rss_before_bytes": 1, "pid": 1, "engine": "fake", "step": 3'
            file.write(f"{{{event}{more}}}\n")
        scan.catch_up(log)
        assert scan.state == state, kind
    with log.open("a") as file:
        file.write(record_of(1, [1.0]))
    scan.catch_up(log)
    assert scan.state == "running"


@pytest.mark.parametrize("layout", ['"event": "{}", "time": 1.0', '"time": 1.0, "event": "{}"'])
def test_the_last_evaluation_and_the_restored_step(log: Path, layout: str) -> None:
    def event(kind: str, more: str) -> str:
        return f"{{{layout.replace('{}', kind)}, {more}}}\n"

    evaluations = [
        event("evaluation", f'"step": {step}, "epoch": 1, "loss": 0.5, "accuracy": 0.25')
        for step in (2, 4)
    ]
    steps = record_of(1, [4.0, 3.0, 2.0, 1.0])
    text = steps + "".join(evaluations) + event("checkpoint", '"step": 4')
    scan = scanned(log, text)
    assert scan.evaluation is not None
    assert scan.evaluation["step"] == 4
    scan = scanned(log, text + event("restored", '"step": 3'))
    assert (scan.steps, scan.curve.points()) == (3, (4.0, 3.0, 2.0))
    assert scan.best_loss == 1.0, "of all that were read"


@pytest.mark.parametrize("layout", [str, as_json])
def test_the_lowest_loss_is_the_lowest_that_is_finite(log: Path, layout: type[str]) -> None:
    lines = [
        record_of(first, losses)
        for first, losses in ((1, [math.nan]), (2, [3.0, 1.0, math.nan]), (5, [2.0]), (6, [1.0]))
    ]
    text = "".join(map(layout, lines))
    scan = scanned(log, text)
    assert (scan.best_loss, scan.last_loss, scan.steps) == (1.0, 1.0, 6)
    assert scan.curve.points() == pytest.approx(
        (math.nan, 3.0, 1.0, math.nan, 2.0, 1.0), nan_ok=True
    )
    first = scanned(log, layout(lines[0]))
    assert math.isnan(first.best_loss)
    assert math.isnan(first.last_loss)
    assert first.steps == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"0.5, 2, 3.25", [0.5, 2.0, 3.25]),
        (b"0.12345678901234567", [0.12345678901234]),
        (b"1.2345678901234567e-05, 1.0", [1.2345678901234567e-05, 1.0]),
        (b"null, 1.5", [math.nan, 1.5]),
        (b"null, 1e-05", [math.nan, 1e-05]),
    ],
)
def test_numbers_are_read_to_fourteen_digits(text: bytes, expected: list[float]) -> None:
    assert _numbers(text) == pytest.approx(expected, rel=0, abs=0, nan_ok=True)
