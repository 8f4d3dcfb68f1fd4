"""unschedule_maintenance in the database in which pg_cron lives."""

from __future__ import annotations

import pytest
from psycopg import errors

OURS = "select jobname from cron.job where database = 'cronhome'"


def test_takes_the_entry_off_again(home):
    home.execute("select cortex.schedule_maintenance()")

    (there_was_one,) = home.execute("select cortex.unschedule_maintenance()").fetchone()

    assert there_was_one is True
    assert home.execute(OURS).fetchall() == []


def test_says_that_there_was_no_entry_to_take_off(home):
    assert home.execute("select cortex.unschedule_maintenance()").fetchone() == (False,)


def test_leaves_the_entries_of_others_alone(home):
    home.execute("select cron.schedule('theirs', '0 3 * * *', 'select 1')")
    home.execute("select cortex.schedule_maintenance()")

    home.execute("select cortex.unschedule_maintenance()")

    assert home.execute(OURS).fetchall() == [("theirs",)]


def test_says_whose_an_entry_is_that_somebody_else_made(home):
    """P10: pg_cron lets nobody take off by name what another role scheduled."""
    home.execute("select cortex.schedule_maintenance()")
    home.execute("update cron.job set username = 'somebody' where database = 'cronhome'")

    with pytest.raises(errors.InsufficientPrivilege) as caught, home.transaction():
        home.execute("select cortex.unschedule_maintenance()")

    assert "somebody" in caught.value.diag.message_primary
