"""cortex.find_job: one job by its handle."""

from uuid import uuid4

import pytest

from tests.sql.asking import rows, table_of, value

FIND = "select * from cortex.find_job(job => %s)"


@pytest.mark.parametrize(
    "status", ["queued", "running", "succeeded", "failed", "interrupted", "cancelled"]
)
def test_answers_with_the_row_of_the_view(conn, make_job, status):
    job = make_job(status, params={"a": 1}, result={"b": [None]}, message="é")
    make_job("queued")

    [found] = rows(conn, FIND, [job])

    [seen] = rows(conn, "select * from cortex.jobs where uuid = %s", [job])
    assert list(found) == list(seen)
    assert found | {"seconds_since_update": 0} == seen | {"seconds_since_update": 0}


@pytest.mark.parametrize("job", [uuid4(), None])
def test_answers_with_no_row_where_there_is_no_such_job(conn, make_job, job):
    """B05."""
    make_job("queued")

    assert rows(conn, FIND, [job]) == []


def test_changes_nothing(conn, make_job):
    """A11: the zombie is told apart by its age; only listings and upkeep close it."""
    zombie = make_job("running", silent_for="3 hours")
    before = table_of(conn)

    [found] = rows(conn, FIND, [zombie])

    assert found["seconds_since_update"] > 10_799
    assert table_of(conn) == before


def test_reads_in_a_read_only_transaction(conn, make_job):
    job = make_job("running")
    conn.execute("set transaction read only")

    assert len(rows(conn, FIND, [job])) == 1


def test_works_beyond_the_largest_int4(conn, make_job):
    """E14."""
    conn.execute("alter table cortex.job alter column id restart with 2147483648")
    job = make_job("queued")

    assert value(conn, "select uuid from cortex.find_job(%s)", [job]) == job
