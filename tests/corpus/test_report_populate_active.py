"""cortex.report_populate_active tells whether a slice is being counted already."""

from __future__ import annotations

import psycopg
import pytest

import pycortex.sql

SLICE = {"corpus_id": 7, "service_id": 3, "severity": "info"}


def active(conn, *arguments):
    return pycortex.sql.report_populate_active(conn, *(arguments or (7, 3, "info")))


@pytest.mark.parametrize("status", ["queued", "running"])
def test_sees_a_job_that_waits_or_runs(conn, make_job, status):
    make_job(status, kind="populate_report", params=SLICE, debounce_scope=SLICE)

    assert active(conn)


@pytest.mark.parametrize("status", ["succeeded", "failed", "interrupted", "cancelled"])
def test_sees_no_job_that_is_over(conn, make_job, status):
    make_job(status, kind="populate_report", params=SLICE, debounce_scope=SLICE)

    assert not active(conn)


@pytest.mark.parametrize("other", [(8, 3, "info"), (7, 4, "info"), (7, 3, "warning")])
def test_sees_no_job_of_another_slice(conn, make_job, other):
    make_job(kind="populate_report", params=SLICE, debounce_scope=SLICE)

    assert not active(conn, *other)


def test_sees_no_job_of_another_kind_with_the_same_params(conn, make_job):
    make_job(kind="refresh_reports", params=SLICE)

    assert not active(conn)


def test_sees_a_job_however_many_newer_ones_there_are(conn, make_job):
    make_job(kind="populate_report", params=SLICE, debounce_scope=SLICE)
    for _ in range(250):
        make_job()

    assert active(conn)


def test_closes_a_zombie_instead_of_counting_it(conn, make_job):
    job = make_job(
        "running", silent_for="3 hours", kind="populate_report", params=SLICE, debounce_scope=SLICE
    )

    assert not active(conn)
    assert pycortex.sql.find_job(conn, job).status == "interrupted"


def test_closes_the_job_of_a_dead_runner(conn, make_job, make_runner):
    make_job(
        "running",
        runner=make_runner(alive=False),
        kind="populate_report",
        params=SLICE,
        debounce_scope=SLICE,
    )

    assert not active(conn)


def test_only_reads_in_a_read_only_transaction(connect, committed):
    committed.make_job("running", silent_for="3 hours", kind="populate_report", params=SLICE)
    conn = connect()
    conn.read_only = True

    assert active(conn)


@pytest.mark.parametrize(
    ("arguments", "sqlstate"),
    [
        ((1, 1, "bogus"), "22023"),
        ((None, 1, "info"), "22004"),
        ((1, None, "info"), "22004"),
        ((1, 1, None), "22004"),
    ],
)
def test_refuses_what_names_no_slice(conn, arguments, sqlstate):
    with pytest.raises(psycopg.Error) as caught:
        conn.execute("select cortex.report_populate_active(%s, %s, %s)", arguments)

    assert caught.value.sqlstate == sqlstate
