"""The steps of a runner's many bodies: one call for all that are due, none at another's cost."""

import psycopg
import pytest

from pycortex import sql
from pycortex._remote import Desk
from pycortex.errors import JobCancelled, JobStopped
from tests.waiting import wait_until


@pytest.fixture
def desk(database):
    """Writes steps as a runner does; it looks again after a long time only."""
    desk = Desk(database, 60.0)
    yield desk
    desk.close()


@pytest.fixture
def bodies(desk, committed):
    """Makes so many running jobs; returns what their bodies hold, with a step to be written."""

    def make(count, **columns):
        jobs = [committed.make_job("running", **columns) for _ in range(count)]
        made = [desk.progress(sql.find_job(committed.conn, job)) for job in jobs]
        for number, progress in enumerate(made, 1):
            progress._latest = number, None if number % 2 else 9, f"step {number}"
        return made

    return make


def stored(committed, progresses):
    found = [sql.find_job(committed.conn, progress.uuid) for progress in progresses]
    return [(job.progress_current, job.progress_total, job.message) for job in found]


def test_one_call_writes_what_is_due(desk, bodies, committed):
    due = bodies(30)
    due[3]._latest = 2**63 - 1, -(2**63), "wide"

    left = desk._writer._write_together(due)

    assert left == []
    assert stored(committed, due) == [progress._latest for progress in due]
    [versions] = committed.conn.execute("select count(distinct xmin::text) from cortex.job")
    assert versions == (1,)
    assert all(progress._written is progress._latest for progress in due)


def test_each_body_hears_what_is_meant_for_it(desk, bodies, committed):
    due = bodies(4)
    conn = committed.conn
    conn.execute("select cortex.cancel_job(%s)", [due[1].uuid])
    conn.execute("select cortex.interrupt_orphans()")
    conn.execute("update cortex.job set status = 'running', finished_at = null")
    conn.execute("update cortex.job set attempt = attempt + 1 where uuid = %s", [due[2].uuid])
    conn.execute("delete from cortex.job where uuid = %s", [due[3].uuid])

    assert desk._writer._write_together(due) == []

    due[0].step(5)
    with pytest.raises(JobCancelled):
        due[1].step(5)
    for lost in due[2:]:
        with pytest.raises(JobStopped):
            lost.step(5)


def test_a_row_that_somebody_has_is_left_for_a_step_of_its_own(desk, bodies, committed, connect):
    due = bodies(3)
    with connect() as holder:
        holder.execute("select from cortex.job where uuid = %s for update", [due[1].uuid])

        left = desk._writer._write_together(due)

        assert left == [due[1]]
        assert [row[0] for row in stored(committed, due)] == [1, 0, 3]


def test_a_last_step_that_is_being_written_is_not_waited_for(desk, bodies, committed):
    due = bodies(3)
    with due[1]._writing:
        left = desk._writer._write_together(due)

    assert left == [due[1]]
    assert [row[0] for row in stored(committed, due)] == [1, 0, 3]


def test_what_is_over_or_written_is_left_alone(desk, bodies, committed):
    due = bodies(4)
    due[0]._close()
    due[1]._written = due[1]._latest
    due[2]._latest = None

    assert desk._writer._write_together(due) == []

    assert [row[0] for row in stored(committed, due)] == [0, 0, 0, 4]
    assert not any(progress._writing.locked() for progress in due)


def test_a_message_that_is_no_text_is_left_for_a_step_of_its_own(desk, bodies, committed):
    due = bodies(2)
    due[0]._latest = 1, None, ValueError("not text")

    assert desk._writer._write_together(due) == [due[0]]
    assert [row[0] for row in stored(committed, due)] == [0, 2]
    assert not any(progress._writing.locked() for progress in due)


def test_a_job_whose_step_is_refused_costs_the_others_nothing(desk, bodies, committed):
    due = bodies(3)
    committed.conn.execute(
        "create function app_refuse() returns trigger language plpgsql as"
        " $$ begin raise 'no'; end $$;"
        " create trigger app_refuse before update on cortex.job for each row"
        " when (new.progress_current = 2) execute function app_refuse()"
    )

    desk._writer._next = iter([{progress: [] for progress in due}, {}]).__next__
    desk._writer._run()

    assert [row[0] for row in stored(committed, due)] == [1, 0, 3]
    assert [progress._trouble for progress in due] == [False, True, False]


@pytest.mark.parametrize("away", [False, True])
def test_all_of_them_are_tried_again_after_an_outage(desk, bodies, committed, monkeypatch, away):
    due = bodies(3)
    asked = []

    def fail(*_, **__):
        asked.append(None)
        raise psycopg.OperationalError("away") if away else psycopg.errors.DataError("refused")

    monkeypatch.setattr(sql, "step_jobs", fail)

    left = desk._writer._write_together(due)

    assert left == ([] if away else due)
    assert len(asked) == 1
    assert [progress in desk._writer._due for progress in due] == [away] * 3
    assert not any(progress._writing.locked() for progress in due)


def test_an_installation_without_the_call_gets_single_steps(desk, bodies, committed):
    due = bodies(2)
    committed.conn.execute("drop function cortex.step_jobs")

    desk._writer._next = iter([{progress: [] for progress in due}, {}]).__next__
    desk._writer._run()

    assert stored(committed, due) == [progress._latest for progress in due]
    assert desk._writer._together == 1


def test_bodies_that_step_at_once_are_all_seen(new_runner):
    """Through the runner's own thread, each body with a pace of its own."""

    def body(progress):
        for number in range(1, 300):
            progress.step(number, 299, "on its way")

    runner = new_runner(max_workers=8, step_interval=0.01)
    handles = [runner.spawn("test", body) for _ in range(8)]

    jobs = [handle.wait(60) for handle in handles]

    assert {(job.status, job.progress_current, job.progress_total) for job in jobs} == {
        ("succeeded", 299, 299)
    }


def test_steps_that_wait_are_written_without_their_bodies(desk, bodies, committed):
    desk._writer.interval = 0.05
    due = bodies(5)

    for progress in due:
        desk._writer.schedule(progress, 0.0)

    wait_until(lambda: [row[0] for row in stored(committed, due)] == [1, 2, 3, 4, 5], 20)
