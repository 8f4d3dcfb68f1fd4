"""schedule_work and unschedule_work in the database in which pg_cron lives."""

from __future__ import annotations

import pytest
from psycopg import errors

from tests.sql.asking import refused

OURS = (
    "select jobid, jobname, schedule, command, username from cron.job"
    " where jobname like 'cortex.work%' order by jobid"
)


def test_puts_the_work_on_pg_cron_as_the_caller(home):
    """P16: one statement, fully qualified; P17: idempotent."""
    me = home.info.user
    (number,) = home.execute("select cortex.schedule_work()").fetchone()

    (again,) = home.execute("select cortex.schedule_work('*/2 * * * *', max_jobs => 7)").fetchone()

    assert again == number
    assert home.execute(OURS).fetchall() == [
        (number, "cortex.work in cronhome", "*/2 * * * *", "call cortex.work(7)", me)
    ]


def test_takes_null_for_the_defaults(home):
    home.execute("select cortex.schedule_work(null, null)")

    [row] = home.execute(OURS).fetchall()
    assert row[2:4] == ("* * * * *", "call cortex.work(100)")


@pytest.mark.parametrize("schedule", ["90 seconds", "*/30 * * * * *", "every minute", ""])
def test_refuses_a_schedule_that_pg_cron_refuses(home, schedule):
    with refused(home, "22023") as caught:
        home.execute("select cortex.schedule_work(%s)", [schedule])

    assert caught.value.diag.message_hint
    assert home.execute(OURS).fetchall() == []


def test_refuses_fewer_than_one_job(home):
    with refused(home, "22023"):
        home.execute("select cortex.schedule_work(max_jobs => 0)")


@pytest.fixture
def operator(home):
    """The session as an operator who is no superuser."""
    home.execute("create role cron_operator login in role cortex_admin")
    home.execute("set local role cron_operator")
    return home


def test_says_which_right_the_caller_lacks(operator):
    """P08: it uses only functions of pg_cron, and asks for no more than the use of its schema."""
    with refused(operator, "42501") as caught:
        operator.execute("select cortex.schedule_work()")

    assert "grant usage on schema cron to cron_operator" in caught.value.diag.message_hint


def test_lets_each_role_have_an_entry_of_its_own(operator):
    operator.execute("reset role")
    operator.execute("grant usage on schema cron to cron_operator")
    operator.execute("select cortex.schedule_work()")
    operator.execute("set local role cron_operator")

    operator.execute("select cortex.schedule_work()")

    operator.execute("reset role")
    names = [row[4] for row in operator.execute(OURS)]
    assert names == [operator.info.user, "cron_operator"]
    operator.execute("set local role cron_operator")
    assert operator.execute("select cortex.unschedule_work()").fetchone() == (True,)
    assert operator.execute("select cortex.unschedule_work()").fetchone() == (False,)


def test_says_that_a_caller_who_cannot_log_in_is_of_no_use(home):
    """P19."""
    home.execute("create role cron_nologin in role cortex_admin")
    home.execute("grant usage on schema cron to cron_nologin")
    home.execute("set local role cron_nologin")

    with pytest.raises(errors.InvalidAuthorizationSpecification), home.transaction():
        home.execute("select cortex.schedule_work()")


def test_keeps_names_apart_that_pg_cron_would_cut_to_the_same(home):
    """I02: it cuts names to 63 bytes."""
    names = [
        home.execute("select cortex.cron_name(%s)", ["job " + "ü" * 60 + end]).fetchone()[0]
        for end in ("a", "b")
    ]

    assert len(set(names)) == 2
    assert all(len(name.encode()) <= 63 for name in names)


def test_says_whose_entry_it_is_when_it_is_not_the_callers(operator):
    """P10."""
    operator.execute("reset role")
    operator.execute("grant usage on schema cron to cron_operator")
    operator.execute("set local role cron_operator")
    operator.execute("select cortex.schedule_work()")
    operator.execute("reset role")

    with refused(operator, "42501") as caught:
        operator.execute("select cortex.unschedule_work()")

    assert "cron_operator" in caught.value.diag.message_primary


def test_takes_the_work_off_again(home):
    home.execute("select cortex.schedule_work()")
    home.execute("select cortex.schedule_maintenance()")

    assert home.execute("select cortex.unschedule_work()").fetchone() == (True,)

    assert home.execute("select jobname from cron.job").fetchall() == [
        ("cortex.maintain in cronhome",)
    ]


def test_does_not_lend_a_superusers_rights_to_the_owners_code(home):
    home.execute("create role cron_owner")
    home.execute("alter schema cortex owner to cron_owner")

    with refused(home, "42501") as caught:
        home.execute("select cortex.schedule_work()")

    assert "cron_owner" in caught.value.diag.message_hint
