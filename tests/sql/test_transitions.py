"""
The life of a job: every call in every state.

A cell of a matrix is the state to which the call takes the job; or what the call answers where it
leaves the job alone: then not a single column may have changed. Numbers and none are how many
jobs a sweep ended, or a claim got. Asked and tied are what else may be noted of a running job.
"""

import psycopg
import pytest

from tests.sql.asking import job_of, value

MINE, OTHERS = "%(mine)s", "%(other)s"

CALLS = {
    "start": "cortex.set_running(%(job)s)",
    "by_owner": "cortex.set_running(%(job)s, %(mine)s)",
    "by_other": "cortex.set_running(%(job)s, %(other)s)",
    "claim": "uuid from cortex.claim_jobs(%(other)s, '{test}', 9) where uuid = %(job)s",
    "step": "cortex.step(%(job)s, 1)",
    "step_1": "cortex.step(%(job)s, 1, attempt => 1)",
    "succeed": "cortex.finish_job(%(job)s, 'succeeded')",
    "fail": "cortex.finish_job(%(job)s, 'failed')",
    "cancel": "cortex.finish_job(%(job)s, 'cancelled')",
    "fail_1": "cortex.finish_job(%(job)s, 'failed', attempt => 1)",
    "reap": "cortex.reap_stale()",
    "maintain": "stale + orphaned from cortex.maintain()",
    "sweep": "cortex.interrupt_orphans()",
    "sweep_mine": "cortex.interrupt_orphans(%(mine)s)",
    "retire": "cortex.retire_runner(%(mine)s)",
    "beat": "count(*) from cortex.keep_runner(%(other)s)",
    "purge": "cortex.purge_jobs(older_than => '1 hour')",
    "find": "count(*) from cortex.find_job(%(job)s)",
    "withdraw": "cortex.cancel_job(%(job)s)",
    "rerun": "created from cortex.rerun_job(%(job)s)",
    "attach": "cortex.attach_backend(%(job)s)",
}

LIFE = """
state       start   by_owner by_other claim   step     step_1   succeed   fail   cancel    fail_1
queued      running running  running  running stop     stop     JC201     JC201  JC201     JC201
owned       running running  false    none    stop     stop     JC201     JC201  JC201     JC201
ahead       false   false    false    none    stop     stop     JC201     JC201  JC201     JC201
follow_up   false   false    false    none    stop     stop     JC201     JC201  JC201     JC201
running     false   false    false    none    continue continue succeeded failed cancelled failed
second      false   false    false    none    continue stop     succeeded failed cancelled JC202
silent      false   false    false    none    continue continue succeeded failed cancelled failed
orphan      false   false    false    none    continue continue succeeded failed cancelled failed
interrupted false   false    false    none    stop     stop     succeeded failed cancelled failed
unstarted   false   false    false    none    stop     stop     false     false  false     false
succeeded   false   false    false    none    stop     stop     true      false  false     false
failed      false   false    false    none    stop     stop     false     true   false     true
cancelled   false   false    false    none    stop     stop     false     false  true      false
withdrawn   false   false    false    none    stop     stop     false     false  true      false
"""

UPKEEP = """
state        reap        maintain    sweep       sweep_mine  retire      beat purge find
queued       0           0           interrupted 0           0           0    0     1
owned        0           0           interrupted interrupted interrupted 0    0     1
ahead        0           0           interrupted 0           0           0    0     1
follow_up    0           0           interrupted 0           0           0    0     1
running      0           0           interrupted interrupted interrupted 0    0     1
second       0           0           interrupted interrupted interrupted 0    0     1
silent       interrupted interrupted interrupted interrupted interrupted 0    0     1
orphan       0           interrupted interrupted 0           0           0    0     1
interrupted  0           0           0           0           0           0    0     1
unstarted    0           0           0           0           0           0    0     1
succeeded    0           0           0           0           0           0    0     1
failed       0           0           0           0           0           0    0     1
cancelled    0           0           0           0           0           0    0     1
withdrawn    0           0           0           0           0           0    0     1
"""

MINDS = """
state       withdraw    rerun attach
queued      cancelled   JC201 JC201
owned       cancelled   JC201 JC201
ahead       cancelled   JC201 JC201
follow_up   cancelled   JC201 JC201
running     asked       JC201 tied
second      asked       JC201 tied
silent      asked       JC201 tied
orphan      asked       JC201 tied
interrupted interrupted true  JC201
unstarted   interrupted true  JC201
succeeded   succeeded   true  JC201
failed      failed      true  JC201
cancelled   cancelled   true  JC201
withdrawn   cancelled   true  JC201
"""
MAY_CHANGE = {
    "continue": {"progress_current", "updated_at"},
    "asked": {"cancel_requested_at", "cancel_requested_by"},
    "tied": {"backend_pid", "backend_start"},
}
ANSWERS = {"asked": "running", "tied": ""}


def cells(matrix):
    header, *lines = [line.split() for line in matrix.strip().splitlines()]
    for state, *outcomes in lines:
        for call, outcome in zip(header[1:], outcomes, strict=True):
            yield pytest.param(state, call, outcome, id=f"{state}-{call}-{outcome}")


STATES = {
    "queued": {"status": "queued"},
    "owned": {"status": "queued", "runner": MINE},
    "ahead": {"status": "queued", "run_at": "2100-01-01 00:00:00+00"},
    "follow_up": {"status": "queued", "debounce_scope": {}, "debounce_on": "queued"},
    "running": {"status": "running", "runner": MINE},
    "second": {"status": "running", "runner": MINE, "attempt": 2},
    "silent": {"status": "running", "runner": MINE, "silent_for": "3 hours"},
    "orphan": {"status": "running", "runner": "gone"},
    "interrupted": {"status": "interrupted", "runner": MINE},
    "unstarted": {"status": "interrupted", "started_at": None, "attempt": 0},
    "succeeded": {"status": "succeeded", "runner": MINE},
    "failed": {"status": "failed", "runner": MINE},
    "cancelled": {"status": "cancelled", "attempt": 1, "runner": MINE},
    "withdrawn": {"status": "cancelled"},
}
NAMES = {"queued", "running", "succeeded", "failed", "interrupted", "cancelled"}


@pytest.fixture
def stand(make_job, make_runner):
    """Puts a job into one of STATES; returns the parameters of a call."""
    mine, other, gone = make_runner(), make_runner(), make_runner(alive=False)

    def put(state):
        columns = dict(STATES[state])
        owner = {MINE: mine, "gone": gone}.get(columns.pop("runner", None))
        if state == "follow_up":
            make_job("running", debounce_scope={})
        job = make_job(columns.pop("status"), runner=owner, **columns)
        return {"job": job, "mine": mine, "other": other}

    return put


def answer_of(conn, call, parameters):
    try:
        with conn.transaction():
            return value(conn, f"select {CALLS[call]}", parameters)
    except psycopg.Error as error:
        return error.sqlstate


@pytest.mark.parametrize(
    ("state", "call", "outcome"), [*cells(LIFE), *cells(UPKEEP), *cells(MINDS)]
)
def test_are_the_ones_of_the_design_and_no_others(conn, stand, state, call, outcome):
    parameters = stand(state)
    before = job_of(conn, parameters["job"])

    answer = answer_of(conn, call, parameters)

    after = job_of(conn, parameters["job"])
    if outcome in NAMES - {before["status"]}:
        assert after["status"] == outcome
        assert answer in (True, parameters["job"], outcome) or answer >= 1
        assert (after["finished_at"] is None) == (outcome == "running")
        assert after["attempt"] == before["attempt"] + (outcome == "running")
    else:
        changed = {column for column in after if after[column] != before[column]}
        assert str(answer).lower() == ANSWERS.get(outcome, outcome).lower()
        assert changed == MAY_CHANGE.get(outcome, set())


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("status", ["queued", "running", "interrupted"])
def test_by_finish_job_lead_to_outcomes_only(conn, stand, state, status):
    parameters = stand(state)
    before = job_of(conn, parameters["job"])

    with pytest.raises(psycopg.Error) as caught, conn.transaction():
        conn.execute("select cortex.finish_job(%s, %s)", [parameters["job"], status])

    assert caught.value.sqlstate == "22023"
    assert job_of(conn, parameters["job"]) == before


@pytest.mark.parametrize("state", STATES)
def test_leave_an_event_each_and_none_where_there_is_none(conn, stand, state):
    parameters = stand(state)
    events = "select count(*) from cortex.job_events where job = %(job)s"

    for call in CALLS:
        seen = value(conn, events, parameters)
        before = job_of(conn, parameters["job"])["status"]
        with conn.transaction(force_rollback=True):
            answer_of(conn, call, parameters)
            changed = job_of(conn, parameters["job"])["status"] != before
            assert value(conn, events, parameters) == seen + changed, call
