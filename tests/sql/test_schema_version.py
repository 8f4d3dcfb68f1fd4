"""cortex.schema_version: what a client asks at its start."""

from __future__ import annotations

from pycortex.install import pending
from tests.sql.asking import value


def test_names_the_newest_migration(conn):
    assert pending(conn) == []

    version = value(conn, "select cortex.schema_version()")

    assert version == value(
        conn, "select migration_id from cortex._yoyo_migration order by migration_id desc limit 1"
    )


def test_does_not_follow_the_order_of_applying(conn):
    conn.execute(
        "insert into cortex._yoyo_migration values ('a', '9999.z', '2000-01-01'),"
        " ('b', '0000.a', '3000-01-01'), ('c', '9999.Z', '3000-01-01')"
    )

    assert value(conn, "select cortex.schema_version()") == "9999.z"


def test_may_be_asked_by_a_reader(conn):
    conn.execute("set local role cortex_reader")

    assert value(conn, "select cortex.schema_version()")
