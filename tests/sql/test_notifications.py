"""
Who listens hears: cortex_queue when a job may be claimed, cortex_jobs at every change of state.

Nothing at a step. Polling works without any of it.
"""

from __future__ import annotations

import pytest

from tests.cleaning import empty, module_database
from tests.sql.asking import value

END = "select pg_notify('test_end', '')"


@pytest.fixture(scope="module")
def database(server, template):
    with module_database(server, template) as url:
        yield url


@pytest.fixture(autouse=True)
def _emptied(database):
    empty(database)


@pytest.fixture
def heard(committed, connect):
    """What was sent on a channel since the last call, in order."""
    listener = connect(autocommit=True)
    for channel in ("cortex_queue", "cortex_jobs", "test_end"):
        listener.execute(f"listen {channel}")

    def ask(channel):
        committed.conn.execute(END)
        payloads = []
        for notice in listener.notifies(timeout=30):
            if notice.channel == "test_end":
                break
            if notice.channel == channel:
                payloads.append(notice.payload)
        return payloads

    return ask


@pytest.fixture
def do(committed):
    """Calls a routine, committed."""
    return lambda call, *params: value(committed.conn, f"select {call}", params)


# cortex_jobs


def test_tells_every_change_of_state(heard, do, committed):
    job = do("uuid from cortex.spawn_job('test')")
    do("cortex.set_running(%s)", job)
    do("cortex.finish_job(%s, 'succeeded')", job)

    assert heard("cortex_jobs") == [f"{job} queued", f"{job} running", f"{job} succeeded"]


def test_tells_every_turn_of_a_job_that_is_tried_again(heard, do):
    do("cortex.configure_kind('test', max_attempts => 2, backoff => '0')")
    job = do("uuid from cortex.spawn_job('test')")
    for _ in range(2):
        do("cortex.set_running(%s)", job)
        do("cortex.finish_job(%s, 'failed')", job)

    states = ["queued", "running", "failed", "queued", "running", "failed"]
    assert heard("cortex_jobs") == [f"{job} {state}" for state in states]


@pytest.mark.parametrize(
    "end",
    [
        "cancel_job(%s)",
        "interrupt_orphans() where %s is not null",
        "reap_stale() where %s is not null",
    ],
)
def test_tells_an_end_that_somebody_else_wrote(heard, do, committed, end):
    status = "queued" if end.startswith("cancel") else "running"
    job = committed.make_job(status, silent_for="3 hours")
    heard("cortex_jobs")

    do(f"cortex.{end}", job)

    told = "cancelled" if end.startswith("cancel") else "interrupted"
    assert heard("cortex_jobs") == [f"{job} {told}"]


def test_tells_a_correction(heard, do, committed):
    job = committed.make_job("interrupted")
    heard("cortex_jobs")

    do("cortex.finish_job(%s, 'succeeded')", job)

    assert heard("cortex_jobs") == [f"{job} succeeded"]


@pytest.mark.parametrize(
    "call",
    [
        "cortex.step(%s, 1)",
        "cortex.attach_backend(%s)",
        "cortex.cancel_job(%s)",
        "cortex.set_running(%s)",
        "count(*) from cortex.find_job(%s)",
    ],
)
def test_tells_nothing_where_no_state_changes(heard, do, committed, call):
    job = committed.make_job("running")
    heard("cortex_jobs")

    do(call, job)

    assert heard("cortex_jobs") == []


def test_tells_nothing_of_what_was_rolled_back(heard, connect):
    other = connect()
    other.execute("select cortex.spawn_job('test')")
    other.rollback()

    assert heard("cortex_jobs") == []


def test_tells_each_of_many_jobs(heard, do):
    uuids = do("array(select cortex.spawn_jobs('test', array['{}', '{}']::jsonb[]))")

    assert heard("cortex_jobs") == [f"{uuid} queued" for uuid in uuids]


def test_tells_each_of_a_thousand_jobs_with_long_names_and_params(heard, do):
    """H10: no payload grows with what one statement makes, or with what a job holds."""
    uuids = do(
        "array(select cortex.spawn_jobs(repeat('é', 200), array_fill("
        "jsonb_build_object('text', repeat('ü', 10000)), array[1000])))"
    )

    assert sorted(heard("cortex_jobs")) == sorted(f"{uuid} queued" for uuid in uuids)
    assert len(uuids) == 1000


# cortex_queue


def test_calls_workers_when_a_job_may_be_claimed(heard, do):
    do("cortex.spawn_job('test')")

    assert heard("cortex_queue") == ["test"]


def test_calls_workers_once_for_many_jobs(heard, do):
    do("count(*) from cortex.spawn_jobs('test', array_fill('{}'::jsonb, array[100]))")

    assert heard("cortex_queue") == ["test"]


def test_calls_nobody_for_a_job_of_a_runner(heard, do, committed):
    do("cortex.spawn_job('test', runner => %s)", committed.make_runner())

    assert heard("cortex_queue") == []


def test_calls_nobody_for_a_job_that_has_its_time_ahead(heard, do):
    do("cortex.spawn_job('test', run_at => '2100-01-01 00:00:00+00')")

    assert heard("cortex_queue") == []


def test_calls_nobody_for_a_spawn_that_was_debounced(heard, do, committed):
    committed.make_job("running", debounce_scope={})
    heard("cortex_queue")

    do("cortex.spawn_job('test', debounce_scope => '{}')")

    assert heard("cortex_queue") == []


@pytest.mark.parametrize("end", ["finish_job(%s, 'succeeded')", "interrupt_orphans(%s)"])
def test_calls_workers_when_a_follow_up_may_start(heard, do, committed, end):
    runner = committed.make_runner()
    job = committed.make_job("running", debounce_scope={}, runner=runner)
    committed.make_job("queued", debounce_scope={}, debounce_on="queued")
    heard("cortex_queue")

    do(f"cortex.{end}", runner if "orphans" in end else job)

    assert heard("cortex_queue") == ["test"]


@pytest.mark.parametrize("end", ["finish_job(%s, 'failed')", "interrupt_orphans(%s)"])
def test_calls_workers_when_a_limited_kind_has_room(heard, do, committed, end):
    do("cortex.configure_kind('test', max_running => 1)")
    runner = committed.make_runner()
    job = committed.make_job("running", runner=runner)
    committed.make_job("queued")
    heard("cortex_queue")

    do(f"cortex.{end}", runner if "orphans" in end else job)

    assert heard("cortex_queue") == ["test"]


@pytest.mark.parametrize(
    "waiting",
    [
        {"kind": "other"},
        {"debounce_scope": {"other": 1}, "debounce_on": "queued"},
        {"debounce_scope": {}, "debounce_on": "queued", "run_at": "2100-01-01 00:00:00+00"},
        {},
    ],
)
def test_calls_nobody_when_the_end_of_a_job_frees_nothing(heard, do, committed, waiting):
    job = committed.make_job("running", debounce_scope={})
    committed.make_job("queued", **waiting)
    heard("cortex_queue")

    do("cortex.finish_job(%s, 'succeeded')", job)

    assert heard("cortex_queue") == []


def test_calls_workers_when_a_job_is_tried_again_at_once(heard, do, committed):
    do("cortex.configure_kind('test', max_attempts => 2, backoff => '0')")
    job = committed.make_job("running")
    heard("cortex_queue")

    do("cortex.finish_job(%s, 'failed')", job)

    assert heard("cortex_queue") == ["test"]


def test_calls_nobody_for_a_job_that_is_tried_again_later(heard, do, committed):
    do("cortex.configure_kind('test', max_attempts => 2, backoff => '1 hour')")
    job = committed.make_job("running")
    heard("cortex_queue")

    do("cortex.finish_job(%s, 'failed')", job)

    assert heard("cortex_queue") == []


@pytest.mark.parametrize("kind", ["it's", "a b", "é ✓", "x" * 200, "%s"])
def test_says_which_kind_to_the_letter(heard, do, kind):
    do("cortex.spawn_job(%s)", kind)

    assert heard("cortex_queue") == [kind]


def test_says_the_longest_kind(heard, do):
    """A payload has room for 8000 bytes."""
    kind = "\U0001f600" * 200

    do("cortex.spawn_job(%s)", kind)

    assert heard("cortex_queue") == [kind]
