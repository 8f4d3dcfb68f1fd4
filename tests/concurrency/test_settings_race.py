"""Settings and kinds that change at the same time: never a combination that can't work."""

from __future__ import annotations

import psycopg
import pytest

from tests.concurrency.parallel import scalar, waiting

SETTINGS = "select cortex.configure(max_attempts => 1)"
KIND = "select cortex.configure_kind('report', on_interrupt => 'requeue')"


@pytest.fixture
def two(committed, connect):
    """Two sessions, where every kind has three attempts."""
    committed.conn.execute("select cortex.configure(max_attempts => 3)")
    return connect(), connect(autocommit=True)


@pytest.mark.parametrize(("comes_first", "comes_second"), [(SETTINGS, KIND), (KIND, SETTINGS)])
def test_the_second_sees_what_the_first_has_written(committed, two, comes_first, comes_second):
    first, second = two
    first.execute(comes_first)

    with waiting(committed.conn, second, lambda: second.execute(comes_second)) as call:
        first.commit()
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            call.result(30)


@pytest.mark.parametrize(("comes_first", "comes_second"), [(SETTINGS, KIND), (KIND, SETTINGS)])
def test_the_second_goes_on_when_the_first_rolls_back(committed, two, comes_first, comes_second):
    first, second = two
    first.execute(comes_first)

    with waiting(committed.conn, second, lambda: second.execute(comes_second)) as call:
        first.rollback()
        call.result(30)

    attempts = scalar(committed.conn, "select max_attempts from cortex.configuration")
    assert attempts == (3 if comes_second == KIND else 1)


def test_two_kinds_are_configured_side_by_side(two):
    first, second = two
    first.execute(KIND)

    second.execute("set lock_timeout = '5s'")
    second.execute("select cortex.configure_kind('other', keep => '1 day')")


def test_the_same_kind_is_entered_once_by_two(committed, two):
    first, second = two
    first.execute("select cortex.configure_kind('report', keep => '1 day')")

    def configure() -> None:
        second.execute("select cortex.configure_kind('report', max_running => 3)")

    with waiting(committed.conn, second, configure) as call:
        first.commit()
        call.result(30)

    [row] = committed.conn.execute("select keep::text, max_running from cortex.kinds").fetchall()
    assert row == ("1 day", 3)
