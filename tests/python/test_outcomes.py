"""What becomes of a job by what its body returns or raises: always a terminal row."""

from __future__ import annotations

import contextlib
import sys

import psycopg
import pytest

from pycortex import JobCancelled, JobFailed, JobStatus, sql
from tests.runners import Gate
from tests.waiting import wait_until


class OwnBaseError(BaseException):
    pass


class SilentError(Exception):
    def __str__(self):
        raise RuntimeError("no")


def raising(error):
    def body(progress):
        raise error

    return body


def looping():
    error = ValueError("itself")
    error.__cause__ = error
    return error


def end(runner, body):
    return runner.spawn("test", body).wait(20)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("bad"), "ValueError: bad"),
        (ValueError(), "ValueError"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (GeneratorExit("gone"), "GeneratorExit: gone"),
        (OwnBaseError("own"), "OwnBaseError: own"),
        (OSError("\udcff.txt"), "OSError: \ufffd.txt"),
        (ValueError("a\x00b"), "ValueError: a\ufffdb"),
        (SilentError(), "SilentError (its text can't be had: RuntimeError)"),
        (looping(), "ValueError: itself"),
        (MemoryError(), "MemoryError"),
        (RecursionError("deep"), "RecursionError: deep"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_whatever_a_body_raises_ends_its_job_failed(runner, error, message):
    """C07, E03, E07."""
    job = end(runner, raising(error))

    assert (job.status, job.message) == (JobStatus.FAILED, message)
    assert job.result is None


def test_a_thread_survives_what_its_bodies_raise(new_runner):
    """C07."""
    runner = new_runner(max_workers=1)
    for error in (SystemExit(3), KeyboardInterrupt(), GeneratorExit(), OwnBaseError()):
        end(runner, raising(error))

    assert end(runner, lambda progress: "alive").result == "alive"


def test_sys_exit_in_a_body_ends_the_job_not_the_process(runner):
    """C07."""
    assert end(runner, lambda progress: sys.exit("bye")).message == "SystemExit: bye"


def test_a_stack_that_overflows_is_a_failure(runner):
    def deeper(progress):
        return deeper(progress)

    job = end(runner, deeper)

    assert job.status is JobStatus.FAILED
    assert job.message.startswith("RecursionError")


@pytest.mark.parametrize(
    "make",
    [
        lambda: ValueError("head" + "x" * 50_000_000),
        lambda: ExceptionGroup("many", [ValueError(n) for n in range(10_000)]),
    ],
    ids=["50 MB", "10,000 members"],
)
@pytest.mark.timeout(60)
def test_a_monstrous_error_is_recorded_in_bounded_time(runner, make):
    """E07."""
    error = make()

    job = end(runner, raising(error))

    assert job.status is JobStatus.FAILED
    assert len(job.message) <= 4000


def test_a_reason_ends_a_job_failed_with_that_reason_only(runner):
    job = end(runner, raising(JobFailed("no such folder: /a\x00")))

    assert (job.status, job.message) == (JobStatus.FAILED, "no such folder: /a\ufffd")


def test_a_failure_without_a_reason_says_so(runner):
    assert end(runner, raising(JobFailed())).message == "failed without a reason"


def test_a_body_that_fails_may_keep_a_result(runner):
    job = end(runner, raising(JobFailed("2 of 3 failed", result={"done": ["a"], "when": {1.5}})))

    assert (job.status, job.message) == (JobStatus.FAILED, "2 of 3 failed")
    assert job.result == {"done": ["a"], "when": [1.5]}


def test_the_reason_of_a_failure_outlives_a_result_that_can_not_be_stored(runner):
    job = end(runner, raising(JobFailed("no luck", result="x" * 9_000_000)))

    assert job.status is JobStatus.FAILED
    assert job.message.startswith("no luck; result too large (")
    assert job.result is None


def test_a_body_may_cancel_itself(runner):
    job = end(runner, raising(JobCancelled("nothing to do on Sundays")))

    assert (job.status, job.message) == (JobStatus.CANCELLED, "nothing to do on Sundays")


def test_params_are_the_bodys_own(runner, committed):
    """E10: whatever it does to them, the row and the next attempt have what the caller gave."""
    sql.configure_kind(committed.conn, "test", max_attempts=2, backoff="10 ms")
    params = {"n": 9007199254740993, "list": [1]}
    seen = []

    def body(progress):
        seen.append(str(progress.params))
        progress.params["list"].append(2)
        progress.params.clear()
        if progress.attempt == 1:
            raise OSError("not yet")

    handle = runner.spawn("test", body, params=params)
    params["list"].append(3)
    wait_until(lambda: handle.job().status is JobStatus.SUCCEEDED)

    assert seen == ["{'n': 9007199254740993, 'list': [1]}"] * 2
    assert handle.job().params == {"n": 9007199254740993, "list": [1]}


def test_a_result_that_loses_something_is_stored_with_a_warning(runner, caplog):
    """E04."""
    job = end(runner, lambda progress: {"score": float("nan"), "n": 1})

    assert (job.status, job.result) == (JobStatus.SUCCEEDED, {"score": None, "n": 1})
    [warning] = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    assert "result.score" in warning


def test_a_result_that_is_too_large_says_that_the_result_was_the_problem(runner):
    """E08."""
    job = end(runner, lambda progress: "x" * 9_000_000)

    assert job.status is JobStatus.FAILED
    assert job.message == "result too large (9000002 bytes; at most 8388608)"


def test_a_result_that_is_nested_too_deeply_says_so(runner):
    """E08."""

    def body(progress):
        nested = []
        for _ in range(20_000):
            nested = [nested]
        return nested

    assert "nested too deeply" in end(runner, body).message


def test_a_result_that_only_the_database_refuses_ends_failed_with_its_reason(runner):
    """E08: as jsonb it is larger than as text."""
    job = end(runner, lambda progress: [1] * 800_000)

    assert job.status is JobStatus.FAILED
    assert "refused by the database" in job.message


def test_a_trigger_that_raises_delays_the_end_and_does_not_lose_it(runner, committed, caplog):
    gate = Gate()
    handle = runner.spawn("test", gate)
    gate.wait_entered()
    committed.conn.execute(
        "create function refuse() returns trigger language plpgsql as"
        " $$ begin raise exception 'disk full'; end $$;"
        "create trigger refuse before update of status on cortex.job"
        " for each row execute function refuse()"
    )

    gate.open()
    wait_until(lambda: "isn't written yet" in caplog.text)
    committed.conn.execute("drop trigger refuse on cortex.job")

    assert handle.wait(20).status is JobStatus.SUCCEEDED


def test_the_end_of_a_job_that_is_gone_is_given_up(runner, committed):
    gate = Gate()
    handle = runner.spawn("test", gate)
    gate.wait_entered()
    committed.conn.execute("delete from cortex.job")

    gate.open()

    wait_until(lambda: runner._bodies.find(handle.uuid) is None)


def test_a_late_end_corrects_an_interruption(runner, committed):
    gate = Gate()
    handle = runner.spawn("test", gate)
    gate.wait_entered()
    sql.interrupt_orphans(committed.conn)

    gate.open()

    job = wait_until(lambda: (found := handle.job()).status is JobStatus.SUCCEEDED and found)
    assert job.result == "passed"


def test_the_end_of_a_lost_attempt_changes_nothing(runner, committed):
    """B03."""
    gate = Gate()
    handle = runner.spawn("test", gate)
    gate.wait_entered()
    committed.conn.execute("update cortex.job set attempt = 2")

    gate.open()

    wait_until(lambda: runner._bodies.find(handle.uuid) is None)
    assert (handle.job().status, handle.job().result) == (JobStatus.RUNNING, None)


def test_what_a_body_does_to_its_connection_does_not_reach_the_row(runner, committed):
    """G03, G08."""
    committed.conn.execute("create table t (n integer primary key)")

    def body(progress):
        conn = progress.connection()
        conn.autocommit = False
        conn.execute("insert into t values (1)")
        progress.step(1, 2)
        with contextlib.suppress(psycopg.errors.UniqueViolation):
            conn.execute("insert into t values (1)")
        return conn.info.backend_pid

    job = end(runner, body)

    assert (job.status, job.progress_current) == (JobStatus.SUCCEEDED, 1)
    [left] = committed.conn.execute("select count(*) from t").fetchone()
    assert left == 0
    wait_until(
        lambda: (
            not committed.conn.execute(
                "select from pg_stat_activity where pid = %s", [job.result]
            ).fetchall()
        )
    )


@pytest.mark.parametrize(
    "spoil",
    [
        lambda conn: conn.close(),
        lambda conn: conn.execute("select pg_terminate_backend(pg_backend_pid())"),
        lambda conn: conn.cursor().copy("copy pg_class to stdout").__enter__(),
        lambda conn: conn.pipeline().__enter__().__class__,
        lambda conn: conn.execute("select pg_advisory_lock(1); begin; lock table pg_class"),
    ],
    ids=["closes", "terminates", "copies", "pipelines", "locks"],
)
def test_a_body_may_leave_its_connection_in_any_state(runner, spoil):
    """G08."""

    def body(progress):
        with contextlib.suppress(psycopg.Error):
            spoil(progress.connection())
        return "done"

    assert end(runner, body).result == "done"


def test_a_connection_of_a_body_is_its_own_and_in_autocommit(runner, committed):
    def body(progress):
        conn = progress.connection()
        with progress.connection(new=True) as further:
            assert further is not conn
        assert progress.connection() is conn
        conn.close()
        assert progress.connection() is not conn
        return [conn.autocommit, progress.connection().autocommit]

    assert end(runner, body).result == [True, True]


def test_what_the_server_warns_of_reaches_the_log(runner, caplog):
    """H13."""

    def body(progress):
        progress.connection().execute("do $$ begin raise warning 'mind the gap'; end $$")

    job = end(runner, body)

    [record] = [r for r in caplog.records if "mind the gap" in r.getMessage()]
    assert (record.levelname, record.job) == ("WARNING", job.uuid)
