"""cron_entry: the name of this database's entry in pg_cron."""

from __future__ import annotations


def test_carries_the_name_of_the_database(conn):
    (entry,) = conn.execute("select cortex.cron_entry()").fetchone()

    assert entry == f"cortex.maintain in {conn.info.dbname}"


def test_is_readable_for_every_reader(conn):
    conn.execute("set local role cortex_reader")

    assert conn.execute("select cortex.cron_entry()").fetchone()
