"""Rate and time left: from what happened lately, and nothing rather than nonsense."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from pycortex.cli._pace import Pace, rate_in_words
from pycortex.models import Job, JobStatus

START = datetime(2026, 1, 1, tzinfo=UTC)


def job(at: float, current: int, total: int | None = 1000, *, silent: float = 0.0, **other) -> Job:
    """A running job that stepped *at* so many seconds after its start, seen *silent* later."""
    stepped = START + timedelta(seconds=at)
    values = {
        "uuid": uuid4(),
        "kind": "test",
        "status": JobStatus.RUNNING,
        "health": "running",
        "progress_current": current,
        "progress_total": total,
        "message": "",
        "actor": "",
        "params": {},
        "result": None,
        "created_at": START,
        "updated_at": stepped,
        "started_at": START,
        "finished_at": None,
        "duration_seconds": at,
        "seconds_since_update": silent,
        "attempt": 1,
        "priority": 0,
        "run_at": START,
        "debounce_scope": None,
        "runner": None,
        "cancel_requested_at": None,
        "cancel_requested_by": "",
    }
    return Job(**values | other)


def seen(*jobs: Job) -> Pace:
    pace = Pace()
    for one in jobs:
        pace.see(one)
    return pace


def test_is_not_told_at_the_beginning():
    for jobs in ([job(0, 0)], [job(0.1, 50)], [job(0, 0), job(0.5, 10)], [job(5, 0)]):
        pace = seen(*jobs)
        assert (pace.rate, pace.left) == (None, None)


def test_is_that_of_the_last_minute_and_not_of_the_whole_run():
    slow = [job(at, at // 10) for at in range(0, 3600, 60)]
    quick = [job(3600 + at, 360 + 5 * at) for at in range(0, 120, 2)]

    pace = seen(*slow, *quick)

    assert pace.rate == pytest.approx(5, rel=0.05)
    assert pace.left == pytest.approx((1000 - (360 + 5 * 118)) / 5, abs=1)


def test_is_the_average_of_the_run_until_something_is_seen():
    """Whoever looks at a job of an hour wants to know at once."""
    pace = seen(job(3600, 360))

    assert pace.rate == pytest.approx(0.1)
    assert pace.left == pytest.approx(6400, abs=15)


def test_does_not_count_what_a_resumed_body_skips():
    pace = seen(job(0, 0), *(job(at, 500 + at) for at in range(1, 30)))

    assert pace.rate == pytest.approx(1, rel=0.05)


def test_begins_anew_with_a_new_attempt():
    before = [job(at, 10 * at) for at in range(60)]

    pace = seen(*before, job(60, 0, attempt=2, started_at=START + timedelta(seconds=60)))

    assert (pace.rate, pace.left) == (None, None)


def test_begins_anew_when_the_count_goes_back():
    before = [job(at, 10 * at) for at in range(60)]

    pace = seen(*before, job(60, 3))
    assert (pace.rate, pace.left) == (None, None)

    for at in range(61, 70):
        pace.see(job(at, 3 + at - 60))
    assert pace.rate == pytest.approx(1, rel=0.05)


def test_is_forgotten_when_the_job_waits_again():
    pace = seen(*(job(at, 10 * at) for at in range(60)))

    pace.see(job(60, 600, status=JobStatus.QUEUED, started_at=None))

    assert (pace.rate, pace.left) == (None, None)


def test_takes_a_new_total_as_it_comes():
    steps = [job(at, 10 * at) for at in range(60)]

    assert seen(*steps).left == pytest.approx(41, abs=1)
    assert seen(*steps, job(60, 600, 6600)).left == pytest.approx(600, abs=1)
    assert seen(*steps, job(60, 600, None)).left is None
    assert seen(*steps, job(60, 600, 100)).left is None
    assert seen(*steps, job(60, 600, 0)).left is None


def test_slows_down_while_the_job_is_silent():
    steps = [job(at, 10 * at) for at in range(30)]
    pace = seen(*steps)

    pace.see(job(29, 290, silent=1.5))
    assert pace.rate == pytest.approx(10, rel=0.1), "between two steps nothing is lost"
    pace.see(job(29, 290, silent=600))

    assert pace.rate < 0.6
    assert pace.left > 1000


def test_holds_for_a_job_that_steps_once_in_minutes():
    pace = seen(*(job(300 * number, number, 10) for number in range(4)))

    assert pace.rate == pytest.approx(1 / 300, rel=0.01)
    assert pace.left == pytest.approx(2100, abs=1)
    pace.see(job(900, 3, 10, silent=250))
    assert pace.left == pytest.approx(1850, abs=1)


def test_has_no_time_left_that_nobody_lives_to_see():
    assert seen(*(job(at, at, 10**15) for at in range(30))).left is None


@pytest.mark.parametrize("current", [-5, 2**62])
def test_bears_any_number(current):
    pace = seen(job(0, current), job(10, current + 1), job(20, -(2**62)), job(30, 2**62))

    assert pace.rate is None or pace.rate >= 0


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        (0, ""),
        (-1, ""),
        (123456, "123.5k/s"),
        (35.2, "35/s"),
        (1.25, "1.2/s"),
        (0.1, "6/min"),
        (1 / 1200, "3/h"),
        (1 / 36000, "<1/h"),
        (2.5e7, "25.0M/s"),
    ],
)
def test_is_worded_in_the_unit_that_suits_it(rate, words):
    assert rate_in_words(rate) == words
