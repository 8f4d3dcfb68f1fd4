"""cortex.db_now: the clock that counts."""

from tests.sql.asking import value


def test_moves_on_inside_a_transaction(conn):
    begun = value(conn, "select transaction_timestamp()")

    now = value(conn, "select cortex.db_now()")

    assert now > begun


def test_is_the_same_instant_in_every_time_zone(conn):
    conn.execute("set local timezone = 'Asia/Tokyo'")

    drift = value(conn, "select abs(extract(epoch from cortex.db_now() - clock_timestamp()))")

    assert drift < 1
