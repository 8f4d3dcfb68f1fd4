"""cortex.configure_kind: what one kind of job does otherwise than the settings."""

from datetime import timedelta

import pytest

from tests.sql.asking import refused, table_of

HOUR = timedelta(hours=1)


def kinds(conn):
    return [(k["name"], k["stale_after"], k["keep"]) for k in table_of(conn, "kind")]


def test_enters_a_kind(conn):
    conn.execute("select cortex.configure_kind('report', stale_after => '1 hour', keep => '0')")

    assert kinds(conn) == [("report", HOUR, timedelta(0))]


def test_changes_what_it_is_told_and_nothing_else(conn):
    conn.execute("insert into cortex.kind (name, stale_after) values ('report', '1 hour')")
    conn.execute("insert into cortex.kind (name, stale_after) values ('other', '2 hours')")

    conn.execute("select cortex.configure_kind(kind => 'report', keep => '1 hour')")

    assert kinds(conn) == [("other", HOUR * 2, None), ("report", HOUR, HOUR)]


def test_leaves_what_is_left_out(conn):
    conn.execute("insert into cortex.kind (name, stale_after) values ('report', '1 hour')")
    before = table_of(conn, "kind")

    conn.execute("select cortex.configure_kind('report')")
    conn.execute("select cortex.configure_kind('report', null, null)")

    assert table_of(conn, "kind") == before


def test_refuses_a_null_kind(conn):
    with refused(conn, "22004"):
        conn.execute("select cortex.configure_kind(null)")


@pytest.mark.parametrize("kind", ["", "  ", "x" * 201])
def test_refuses_a_kind_that_is_blank_or_too_long(conn, kind):
    with refused(conn, "22023"):
        conn.execute("select cortex.configure_kind(%s)", [kind])

    assert table_of(conn, "kind") == []


@pytest.mark.parametrize(
    "arguments", ["stale_after => '0'", "stale_after => '-1 hour'", "keep => '-1 second'"]
)
def test_refuses_spans_that_make_no_sense(conn, arguments):
    conn.execute("insert into cortex.kind (name, stale_after) values ('report', '1 hour')")
    before = table_of(conn, "kind")

    with refused(conn, "22023"):
        conn.execute(f"select cortex.configure_kind('report', {arguments})")

    assert table_of(conn, "kind") == before
