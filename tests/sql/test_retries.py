"""Another attempt: which failed and interrupted jobs go back to the queue, when, and how often."""

from datetime import timedelta

import pytest

from tests.sql.asking import job_of, refused, rows, status_of, value

FAIL = "select cortex.finish_job(job => %s, status => 'failed', message => %s, attempt => %s)"
HISTORY = """
    select e.from_status, e.to_status, e.attempt, e.message
    from cortex.job_events as e
    where e.job = %s
"""


@pytest.fixture
def retried(conn):
    """The kind "test" has three attempts, ten seconds apart, also after an interruption."""
    conn.execute(
        "select cortex.configure_kind('test', max_attempts => 3, backoff => '10 seconds',"
        " on_interrupt => 'requeue')"
    )


def fail(conn, job, message="no", attempt=None):
    return value(conn, FAIL, [job, message, attempt])


def pause_of(conn, job):
    """Seconds until the job may start again, as it was set."""
    row = job_of(conn, job)
    assert row["status"] == "queued"
    return (row["run_at"] - row["updated_at"]).total_seconds()


def start_again(conn, job):
    conn.execute("update cortex.job set run_at = clock_timestamp() where uuid = %s", [job])
    assert value(conn, "select cortex.set_running(%s)", [job]) is True


# What becomes of a failure


@pytest.mark.usefixtures("retried")
def test_a_failed_job_waits_for_its_next_attempt(conn, make_job, make_runner):
    job = make_job("running", runner=make_runner(), silent_for="1 hour", progress_current=7)
    before = job_of(conn, job)

    answer = fail(conn, job, "disk full", 1)

    after = job_of(conn, job)
    assert answer is True
    assert after == before | {
        "status": "queued",
        "message": "disk full",
        "run_at": after["run_at"],
        "updated_at": after["updated_at"],
        "started_at": None,
        "runner": None,
    }
    assert after["updated_at"] > before["updated_at"]


def test_a_failed_job_is_over_where_nobody_asks_for_more(conn, make_job):
    job = make_job("running")

    fail(conn, job)

    assert status_of(conn, job) == "failed"


@pytest.mark.usefixtures("retried")
@pytest.mark.parametrize("status", ["succeeded", "cancelled"])
def test_what_did_not_fail_is_not_tried_again(conn, make_job, status):
    job = make_job("running")

    conn.execute("select cortex.finish_job(%s, %s)", [job, status])

    assert status_of(conn, job) == status


@pytest.mark.usefixtures("retried")
def test_a_job_is_started_as_often_as_its_kind_says(conn, make_job):
    job = make_job("queued")
    started = 0

    while status_of(conn, job) == "queued":
        start_again(conn, job)
        started += 1
        fail(conn, job, f"reason {started}", started)

    assert (started, status_of(conn, job)) == (3, "failed")


@pytest.mark.usefixtures("retried")
def test_the_events_keep_the_outcome_of_each_attempt(conn, make_job):
    job = make_job("queued")
    for attempt in (1, 2, 3):
        start_again(conn, job)
        fail(conn, job, f"reason {attempt}", attempt)

    history = [tuple(row.values()) for row in rows(conn, HISTORY, [job])]

    assert history == [
        (None, "queued", 0, ""),
        ("queued", "running", 1, ""),
        ("running", "failed", 1, "reason 1"),
        ("failed", "queued", 1, "reason 1"),
        ("queued", "running", 2, ""),
        ("running", "failed", 2, "reason 2"),
        ("failed", "queued", 2, "reason 2"),
        ("queued", "running", 3, ""),
        ("running", "failed", 3, "reason 3"),
    ]


@pytest.mark.usefixtures("retried")
def test_a_new_attempt_starts_with_nothing_of_the_one_before(conn, make_job):
    job = make_job("running", progress_current=7, progress_total=9, result={"half": True})
    fail(conn, job)

    start_again(conn, job)

    row = job_of(conn, job)
    assert row["attempt"] == 2
    assert row["started_at"] is not None
    blank = {"progress_current": 0, "progress_total": None, "message": "", "result": None}
    assert row == row | blank | {"backend_pid": None, "backend_start": None}


def test_the_settings_hold_for_a_kind_that_says_nothing(conn, make_job):
    conn.execute("select cortex.configure(max_attempts => 2)")
    conn.execute("select cortex.configure_kind('other', max_attempts => 1)")
    jobs = [make_job("running", kind=kind) for kind in ("test", "other")]

    for job in jobs:
        fail(conn, job)

    assert [status_of(conn, job) for job in jobs] == ["queued", "failed"]


@pytest.mark.usefixtures("retried")
@pytest.mark.parametrize("status", ["running", "interrupted"])
def test_a_job_that_somebody_wants_cancelled_is_not_tried_again(conn, make_job, status):
    job = make_job(status, cancel_requested_at="2020-01-01 00:00:00+00")

    fail(conn, job)

    assert status_of(conn, job) == "failed"


# How long it waits


@pytest.mark.parametrize(
    ("attempt", "longest"), [(1, 10), (2, 20), (3, 40), (5, 160), (9, 2560), (10, 3600), (99, 3600)]
)
def test_the_pause_doubles_up_to_its_limit_and_half_of_it_is_chance(
    conn, make_job, attempt, longest
):
    conn.execute("select cortex.configure(max_attempts => 100, backoff => '10 seconds')")
    jobs = [make_job("running", attempt=attempt) for _ in range(20)]

    for job in jobs:
        fail(conn, job)

    pauses = [pause_of(conn, job) for job in jobs]
    assert longest / 2 <= min(pauses)
    assert max(pauses) <= longest
    assert len(set(pauses)) > 10
    assert max(pauses) - min(pauses) > longest / 10


def test_a_pause_of_nothing_lets_the_job_be_claimed_at_once(conn, make_job, make_runner):
    conn.execute("select cortex.configure_kind('test', max_attempts => 2, backoff => '0')")
    job = make_job("running")

    fail(conn, job)

    claim = "select uuid, attempt from cortex.claim_jobs(%s, '{test}')"
    assert rows(conn, claim, [make_runner()]) == [{"uuid": job, "attempt": 2}]


def test_no_pause_is_too_long_for_the_clock(conn, make_job):
    """D10: the end of a job is written, whatever the settings say."""
    conn.execute(
        "select cortex.configure(max_attempts => 100, backoff => '10000 years',"
        " backoff_limit => '10000 years')"
    )
    jobs = [make_job("running", attempt=attempt) for attempt in (1, 50)]

    for job in jobs:
        fail(conn, job)

    assert [status_of(conn, job) for job in jobs] == ["queued", "queued"]
    assert all(
        value(conn, "select isfinite(run_at) from cortex.job where uuid = %s", [j]) for j in jobs
    )


# What becomes of an interruption


def interrupted_by(conn, how, job, runner):
    """Let one of the routines that interrupt do its work on a running job."""
    if how == "reap_stale":
        conn.execute("update cortex.job set updated_at = updated_at - interval '3 hours'")
        return value(conn, "select cortex.reap_stale()")
    if how == "reap_overdue":
        conn.execute("select cortex.configure_kind('test', run_timeout => '1 hour')")
        conn.execute("update cortex.job set started_at = started_at - interval '3 hours'")
        return value(conn, "select cortex.reap_overdue()")
    if how == "maintain":
        conn.execute("update cortex.runner set seen_at = seen_at - interval '1 minute'")
        return value(conn, "select orphaned from cortex.maintain()")
    if how == "list_recent":
        conn.execute("update cortex.runner set seen_at = seen_at - interval '1 minute'")
        return value(conn, "select count(*) from cortex.list_recent()")
    return value(conn, f"select cortex.{how}(%s)", [runner])


ALL = [
    "reap_stale",
    "reap_overdue",
    "maintain",
    "list_recent",
    "interrupt_orphans",
    "retire_runner",
]


@pytest.mark.usefixtures("retried")
@pytest.mark.parametrize("how", ALL)
def test_an_interrupted_job_waits_again_where_its_kind_says_so(conn, make_job, make_runner, how):
    runner = make_runner()
    job = make_job("running", runner=runner)

    answer = interrupted_by(conn, how, job, runner)

    row = job_of(conn, job)
    assert answer == 1
    assert (row["status"], row["attempt"], row["runner"]) == ("queued", 1, None)
    assert 5 <= pause_of(conn, job) <= 10
    assert [event["to_status"] for event in rows(conn, HISTORY, [job])][1:] == [
        "interrupted",
        "queued",
    ]


@pytest.mark.parametrize("how", ALL)
def test_an_interrupted_job_stays_so_unless_told_otherwise(conn, make_job, make_runner, how):
    conn.execute("select cortex.configure_kind('test', max_attempts => 3)")
    runner = make_runner()
    job = make_job("running", runner=runner)

    interrupted_by(conn, how, job, runner)

    assert status_of(conn, job) == "interrupted"


@pytest.mark.usefixtures("retried")
@pytest.mark.parametrize("how", ALL)
def test_an_interrupted_job_is_over_when_its_attempts_are_used_up(conn, make_job, make_runner, how):
    """A12: what kills its process is not tried for ever."""
    runner = make_runner()
    job = make_job("running", runner=runner, attempt=3)

    interrupted_by(conn, how, job, runner)

    assert status_of(conn, job) == "interrupted"


@pytest.mark.usefixtures("retried")
def test_a_sweep_of_everything_lets_what_ran_try_again_and_ends_what_waited(conn, make_job):
    ran, waits, waits_again = make_job("running"), make_job("queued"), make_job("queued", attempt=1)

    count = value(conn, "select cortex.interrupt_orphans()")

    assert count == 3
    assert [status_of(conn, job) for job in (ran, waits, waits_again)] == [
        "queued",
        "interrupted",
        "interrupted",
    ]


@pytest.mark.usefixtures("retried")
def test_a_job_that_nobody_starts_in_time_is_not_queued_again(conn, make_job):
    """Else its queue_timeout would never end it."""
    conn.execute("select cortex.configure_kind('test', queue_timeout => '1 hour')")
    job = make_job("queued", attempt=1, silent_for="2 hours")

    count = value(conn, "select overdue from cortex.maintain()")

    assert count == 1
    assert status_of(conn, job) == "interrupted"


@pytest.mark.usefixtures("retried")
@pytest.mark.parametrize("how", ["reap_stale", "retire_runner"])
def test_a_job_that_somebody_wants_cancelled_stays_interrupted(conn, make_job, make_runner, how):
    runner = make_runner()
    job = make_job("running", runner=runner, cancel_requested_at="2020-01-01 00:00:00+00")

    interrupted_by(conn, how, job, runner)

    assert status_of(conn, job) == "interrupted"


@pytest.mark.usefixtures("retried")
def test_a_reaper_that_looked_before_another_one_leaves_a_job_that_waits_again(conn, make_job):
    """C05: what has changed since it was seen is not ended a second time."""
    job = make_job("running", silent_for="3 hours")
    [seen] = rows(conn, "select id, updated_at from cortex.job where uuid = %s", [job])
    conn.execute("select cortex.reap_stale()")
    before = job_of(conn, job)

    ended = value(
        conn,
        "select cortex.interrupt_jobs(array[%s], array['too late'], array[%s])",
        [seen["id"], seen["updated_at"]],
    )

    assert ended == 0
    assert job_of(conn, job) == before


# A runner's own jobs: only it has the body


@pytest.mark.usefixtures("retried")
def test_a_runners_own_job_waits_for_that_runner(conn, make_job, make_runner):
    runner = make_runner()
    job = make_job("running", runner=runner, pinned=True)

    fail(conn, job)

    assert (status_of(conn, job), job_of(conn, job)["runner"]) == ("queued", runner)
    assert rows(conn, "select uuid from cortex.claim_jobs(%s, '{test}')", [make_runner()]) == []
    conn.execute("update cortex.job set run_at = clock_timestamp()")
    assert value(conn, "select cortex.set_running(%s, %s)", [job, runner]) is True


@pytest.mark.usefixtures("retried")
@pytest.mark.parametrize("gone", [{"alive": False}, {"retired_at": "2020-01-01 00:00:00+00"}])
def test_a_runners_own_job_is_over_when_the_runner_is_gone(conn, make_job, make_runner, gone):
    job = make_job("running", runner=make_runner(**gone), pinned=True)

    fail(conn, job)

    assert status_of(conn, job) == "failed"


@pytest.mark.usefixtures("retried")
@pytest.mark.parametrize("how", ["maintain", "retire_runner", "list_recent"])
def test_a_runners_own_job_stays_interrupted_when_the_runner_is_gone(
    conn, make_job, make_runner, how
):
    runner = make_runner()
    job = make_job("running", runner=runner, pinned=True)

    interrupted_by(conn, how, job, runner)

    assert status_of(conn, job) == "interrupted"


@pytest.mark.usefixtures("retried")
def test_a_runners_own_job_that_hangs_waits_for_that_runner(conn, make_job, make_runner):
    runner = make_runner()
    job = make_job("running", runner=runner, pinned=True, silent_for="3 hours")

    conn.execute("select cortex.reap_stale()")

    assert (status_of(conn, job), job_of(conn, job)["runner"]) == ("queued", runner)


# Where another job does the work by then


@pytest.mark.usefixtures("retried")
def test_a_failed_job_ends_when_a_follow_up_waits_and_names_it(conn, make_job):
    job = make_job("running", debounce_scope={"a": 1}, debounce_on="queued")
    newer = make_job("queued", debounce_scope={"a": 1}, debounce_on="queued")

    answer = fail(conn, job, "disk full")

    row = job_of(conn, job)
    assert (answer, row["status"]) == (True, "failed")
    assert row["message"].startswith("disk full")
    assert str(newer) in row["message"]
    assert status_of(conn, newer) == "queued"
    assert rows(conn, HISTORY, [job])[-1]["message"] == "disk full"


@pytest.mark.usefixtures("retried")
@pytest.mark.parametrize("status", ["queued", "running"])
def test_a_late_failure_ends_when_a_newer_job_stands_in_the_scope(conn, make_job, status):
    """The job was presumed dead, replaced, and then its body failed after all."""
    job = make_job("interrupted", debounce_scope={})
    newer = make_job(status, debounce_scope={})

    fail(conn, job, "disk full", 1)

    row = job_of(conn, job)
    assert row["status"] == "failed"
    assert str(newer) in row["message"]


@pytest.mark.usefixtures("retried")
def test_an_interrupted_job_ends_when_a_follow_up_waits_and_names_it(conn, make_job):
    job = make_job("running", debounce_scope={}, debounce_on="queued", silent_for="3 hours")
    newer = make_job("queued", debounce_scope={}, debounce_on="queued")

    count = value(conn, "select cortex.reap_stale()")

    row = job_of(conn, job)
    assert (count, row["status"]) == (1, "interrupted")
    assert str(newer) in row["message"]


@pytest.mark.usefixtures("retried")
def test_a_long_reason_leaves_room_for_the_name_of_the_newer_job(conn, make_job):
    job = make_job("running", debounce_scope={}, debounce_on="queued")
    newer = make_job("queued", debounce_scope={}, debounce_on="queued")

    fail(conn, job, "x" * 10_000)

    assert str(newer) in job_of(conn, job)["message"]


@pytest.mark.usefixtures("retried")
@pytest.mark.parametrize("attempt", [None, 1])
def test_the_failure_of_a_job_that_collided_may_be_repeated(conn, make_job, attempt):
    """B08."""
    job = make_job("running", debounce_scope={}, debounce_on="queued")
    make_job("queued", debounce_scope={}, debounce_on="queued")
    fail(conn, job, "disk full", attempt)
    before = job_of(conn, job)

    answer = fail(conn, job, "disk full", attempt)

    assert answer is True
    assert job_of(conn, job) == before


@pytest.mark.usefixtures("retried")
def test_a_spawn_finds_the_zombie_that_it_made_wait_again(conn, make_job):
    """D06: the key is not held by a corpse: the work goes on, and the answer says in which job."""
    zombie = make_job("running", debounce_scope={}, silent_for="3 hours")

    answer = rows(conn, "select * from cortex.spawn_job('test', debounce_scope => '{}')")

    assert answer == [{"uuid": zombie, "created": False}]
    assert status_of(conn, zombie) == "queued"


# The fence


@pytest.mark.usefixtures("retried")
@pytest.mark.parametrize("comes", ["succeeded", "failed", "cancelled"])
@pytest.mark.parametrize("since", ["waits", "runs", "succeeded"])
def test_a_late_finish_of_an_attempt_that_was_given_up_is_refused(conn, make_job, comes, since):
    """B03: also while the next attempt still waits."""
    job = make_job("running", silent_for="3 hours")
    conn.execute("select cortex.reap_stale()")
    if since != "waits":
        start_again(conn, job)
    if since == "succeeded":
        conn.execute("select cortex.finish_job(%s, 'succeeded')", [job])
    before = job_of(conn, job)

    with refused(conn, "JC202"):
        conn.execute("select cortex.finish_job(%s, %s, attempt => 1)", [job, comes])

    assert job_of(conn, job) == before


@pytest.mark.usefixtures("retried")
@pytest.mark.parametrize("since", ["waits", "runs", "succeeded"])
def test_a_repeated_failure_of_an_attempt_that_went_on_is_welcome(conn, make_job, since):
    """B08: the answer to the first call got lost, and the job went on since."""
    job = make_job("running")
    fail(conn, job, "disk full", 1)
    if since != "waits":
        start_again(conn, job)
    if since == "succeeded":
        conn.execute("select cortex.finish_job(%s, 'succeeded')", [job])
    before = job_of(conn, job)

    answer = fail(conn, job, "disk full", 1)

    assert answer is True
    assert job_of(conn, job) == before


@pytest.mark.usefixtures("retried")
def test_another_reason_is_no_repetition(conn, make_job):
    job = make_job("running")
    fail(conn, job, "disk full", 1)

    with refused(conn, "JC202"):
        fail(conn, job, "disk empty", 1)


@pytest.mark.usefixtures("retried")
def test_a_failure_repeated_without_its_attempt_is_welcome_while_the_job_waits(conn, make_job):
    """B08: without the attempt the call means the current one, and that failed so."""
    job = make_job("running")
    fail(conn, job, "disk full")
    before = job_of(conn, job)

    answer = fail(conn, job, "disk full")

    assert answer is True
    assert job_of(conn, job) == before


@pytest.mark.usefixtures("retried")
@pytest.mark.parametrize("since", ["waits", "runs"])
def test_an_attempt_that_was_given_up_is_told_to_stop(conn, make_job, since):
    """B04."""
    job = make_job("running", silent_for="3 hours")
    conn.execute("select cortex.reap_stale()")
    if since == "runs":
        start_again(conn, job)
    before = job_of(conn, job)

    verdict = value(conn, "select cortex.step(%s, 5, attempt => 1)", [job])

    assert verdict == "stop"
    assert job_of(conn, job) == before


@pytest.mark.usefixtures("retried")
def test_the_runner_hears_which_attempt_was_given_up(conn, make_job, make_runner):
    runner = make_runner()
    job = make_job("running", runner=runner, pinned=True, silent_for="3 hours")
    conn.execute("select cortex.reap_stale()")
    start_again(conn, job)

    verdicts = rows(conn, "select * from cortex.keep_runner(%s)", [runner])

    assert verdicts == [{"job": job, "verdict": "stop", "attempt": 1, "hard": True}]


@pytest.mark.usefixtures("retried")
@pytest.mark.parametrize("since", ["waits", "runs", "is over", "was cancelled"])
def test_the_runner_hears_it_whatever_has_become_of_the_job(conn, make_job, make_runner, since):
    """A body that hangs must not go on because somebody cancelled its job in the queue."""
    runner = make_runner()
    job = make_job("running", runner=runner, silent_for="3 hours")
    conn.execute("select cortex.reap_stale()")
    if since in ("runs", "is over"):
        start_again(conn, job)
    if since == "is over":
        conn.execute("select cortex.finish_job(%s, 'succeeded')", [job])
    if since == "was cancelled":
        conn.execute("select cortex.cancel_job(%s)", [job])

    verdicts = rows(conn, "select * from cortex.keep_runner(%s)", [runner])

    assert verdicts == [{"job": job, "verdict": "stop", "attempt": 1, "hard": True}]


@pytest.mark.usefixtures("retried")
@pytest.mark.parametrize("status", ["succeeded", "failed", "cancelled"])
def test_the_runner_hears_nothing_of_a_job_whose_end_it_wrote_after_all(
    conn, make_job, make_runner, status
):
    runner = make_runner()
    job = make_job("interrupted", runner=runner)
    conn.execute("select cortex.finish_job(%s, %s, attempt => 1)", [job, status])

    assert rows(conn, "select * from cortex.keep_runner(%s)", [runner]) == []


@pytest.mark.usefixtures("retried")
def test_the_runner_hears_of_each_lost_attempt_once(conn, make_job, make_runner):
    """Its own job was reaped, waited again, and was swept from the queue."""
    runner = make_runner()
    job = make_job("running", runner=runner, pinned=True, silent_for="3 hours")
    conn.execute("select cortex.reap_stale()")
    conn.execute("select cortex.interrupt_orphans(%s)", [runner])

    verdicts = rows(conn, "select * from cortex.keep_runner(%s)", [runner])

    assert verdicts == [{"job": job, "verdict": "stop", "attempt": 1, "hard": True}]


# Around it


@pytest.mark.usefixtures("retried")
def test_a_job_that_waits_again_is_counted_as_one_that_waits(conn, make_job):
    fail(conn, make_job("running"))

    counts = rows(conn, "select status, jobs from cortex.status_counts() where jobs > 0")

    assert counts == [{"status": "queued", "jobs": 1}]


@pytest.mark.usefixtures("retried")
def test_a_job_that_waits_again_can_be_cancelled(conn, make_job):
    job = make_job("running")
    fail(conn, job)

    answer = value(conn, "select cortex.cancel_job(%s, 'ada')", [job])

    assert answer == "cancelled"
    assert status_of(conn, job) == "cancelled"


@pytest.mark.usefixtures("retried")
def test_a_job_that_waits_again_is_not_stale(conn, make_job):
    job = make_job("running", silent_for="30 days")
    conn.execute("select cortex.reap_stale()")

    assert value(conn, "select cortex.reap_stale()") == 0
    assert status_of(conn, job) == "queued"


@pytest.mark.usefixtures("retried")
def test_a_job_that_waits_again_has_no_age_of_its_attempt(conn, make_job):
    job = make_job("running", silent_for="1 hour")
    fail(conn, job)

    [seen] = rows(conn, "select * from cortex.find_job(%s)", [job])

    assert (seen["health"], seen["duration_seconds"], seen["finished_at"]) == ("pending", 0, None)
    assert seen["run_at"] - seen["updated_at"] <= timedelta(seconds=10)


def test_attempts_may_be_granted_while_a_job_runs(conn, make_job):
    """The settings count at the end of an attempt."""
    job = make_job("running")
    conn.execute("select cortex.configure_kind('test', max_attempts => 2)")

    fail(conn, job)

    assert status_of(conn, job) == "queued"
