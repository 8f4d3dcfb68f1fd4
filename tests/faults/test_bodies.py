"""Bodies that close, break, block or leave open what they were handed."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

import psycopg
import pytest

from pycortex import JobStatus
from tests.waiting import wait_until

pytestmark = pytest.mark.fault("a body spoils its connection")


def cut(conn):
    with socket.socket(fileno=conn.fileno()) as end:
        end.shutdown(socket.SHUT_RDWR)
        end.detach()


def fail_within(conn):
    conn.autocommit = False
    with suppress(psycopg.Error):
        conn.execute("select 1 / 0")


SPOILS = {
    "closes it": lambda conn: conn.close(),
    "ends its session": lambda conn: conn.execute("select pg_terminate_backend(pg_backend_pid())"),
    "cuts its socket": cut,
    "leaves a transaction open": lambda conn: conn.execute("begin; insert into t values (1)"),
    "leaves a failed transaction": fail_within,
    "leaves it in a copy": lambda conn: conn.cursor().copy("copy t to stdout").__enter__(),
    "leaves it in a pipeline": lambda conn: conn.pipeline().__enter__() and None,
    "gives up every lock": lambda conn: conn.execute("select pg_advisory_unlock_all()"),
    "discards everything": lambda conn: conn.execute("discard all"),
    "loses its rights": lambda conn: conn.execute("set session authorization cortex_reader"),
    "makes it read-only": lambda conn: conn.execute("set default_transaction_read_only = on"),
    "limits its statements": lambda conn: conn.execute("set statement_timeout = 1"),
    "locks its job": lambda conn: conn.execute("begin; select from cortex.job for update"),
    "locks its runner": lambda conn: conn.execute("begin; select from cortex.runner for update"),
    "locks every job": lambda conn: conn.execute("begin; lock table cortex.job"),
}


@pytest.fixture(autouse=True)
def table(committed):
    committed.conn.execute("create table public.t (n integer primary key)")


@pytest.mark.parametrize("spoil", SPOILS.values(), ids=SPOILS)
def test_its_job_steps_and_ends_all_the_same(new_runner, committed, ledger, spoil):
    """G03, G08."""
    runner = new_runner()
    pids = []

    def body(progress):
        conn = progress.connection()
        pids.append(conn.info.backend_pid)
        progress.step(1, 3)
        ledger.fault()
        with suppress(psycopg.Error):
            spoil(conn)
        progress.step(2, 3)
        progress.step(3, 3)
        return "done"

    job = runner.spawn("test", body).wait(30)

    assert (job.status, job.result, job.progress_current) == (JobStatus.SUCCEEDED, "done", 3)
    left = "select from pg_stat_activity where pid = %s"
    wait_until(lambda: not committed.conn.execute(left, pids).fetchall())
    assert committed.conn.execute("select count(*) from t").fetchone() == (0,)
    assert runner.spawn("test", lambda progress: "next").wait(20).result == "next"


def test_a_failure_amid_an_open_transaction_is_recorded(new_runner, committed, ledger):
    """G08."""

    def body(progress):
        conn = progress.connection()
        conn.autocommit = False
        conn.execute("insert into t values (1)")
        ledger.fault()
        conn.execute("insert into t values (1)")

    job = new_runner().spawn("test", body).wait(20)

    assert job.status is JobStatus.FAILED
    assert "UniqueViolation" in job.message
    assert committed.conn.execute("select count(*) from t").fetchone() == (0,)


def test_an_open_transaction_does_not_hide_its_steps(new_runner, ledger):
    """G03."""
    inside, looked = threading.Event(), threading.Event()

    def body(progress):
        ledger.fault()
        with suppress(ZeroDivisionError), progress.connection().transaction():
            progress.connection().execute("insert into t values (1)")
            progress.step(1, 2, flush=True)
            inside.set()
            assert looked.wait(20)
            raise ZeroDivisionError
        return "rolled back"

    handle = new_runner().spawn("test", body)
    assert inside.wait(20)
    wait_until(lambda: handle.job().progress_current == 1)
    looked.set()

    job = handle.wait(20)
    assert (job.result, job.progress_current) == ("rolled back", 1)
