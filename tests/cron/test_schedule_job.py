"""schedule_job, unschedule_job, spawn_scheduled and list_schedules where pg_cron lives."""

from __future__ import annotations

import psycopg
import pytest

import pycortex.sql
from tests.sql.asking import refused, rows, value

HOSTILE = 'it\'s "odd" \\ % $$ %s ü'
ENTRIES = "select jobname, schedule, command from cron.job order by jobid"


def test_puts_the_spawn_on_pg_cron(home):
    number = pycortex.sql.schedule_job(home, "nightly", "0 3 * * *", "export")

    assert home.execute("select jobid, jobname, schedule, command from cron.job").fetchall() == [
        (
            number,
            "cortex.job nightly in cronhome",
            "0 3 * * *",
            "select cortex.spawn_scheduled('nightly')",
        )
    ]


def test_changes_what_is_there_under_the_name(home):
    first = pycortex.sql.schedule_job(home, "nightly", "0 3 * * *", "export", params={"a": 1})

    second = pycortex.sql.schedule_job(home, "nightly", "5 3 * * *", "import", priority=3)

    assert second == first
    [found] = pycortex.sql.list_schedules(home)
    assert (found.schedule, found.kind, found.params) == ("5 3 * * *", "import", {})


@pytest.mark.parametrize("name", [HOSTILE, "'; drop table cortex.job; --", "x" * 200, "e\\'"])
def test_runs_under_any_name_with_any_params(home, name):
    pycortex.sql.schedule_job(
        home, name, "0 3 * * *", name, params={name: name}, actor=name, debounce_scope={"s": name}
    )
    [(command,)] = home.execute("select command from cron.job").fetchall()

    home.execute(command.encode())

    [row] = rows(home, "select kind, params, actor, debounce_scope from cortex.jobs")
    assert row == {
        "kind": name,
        "params": {name: name},
        "actor": name,
        "debounce_scope": {"s": name},
    }
    assert pycortex.sql.unschedule_job(home, name) is True
    assert home.execute(ENTRIES).fetchall() == []


def test_keeps_schedules_apart_whose_names_are_alike_up_to_their_end(home):
    """I02."""
    for end in "ab":
        pycortex.sql.schedule_job(home, "x" * 199 + end, "0 3 * * *", end)

    assert len(home.execute(ENTRIES).fetchall()) == 2
    assert [s.kind for s in pycortex.sql.list_schedules(home)] == ["a", "b"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("null, '* * * * *', 'k'", "22004"),
        ("'n', null, 'k'", "22004"),
        ("'n', '* * * * *', null", "22004"),
        ("' ', '* * * * *', 'k'", "22023"),
        ("repeat('n', 201), '* * * * *', 'k'", "22023"),
        ("'n', '* * * * *', ' '", "22023"),
        ("'n', '* * * * *', 'k', '[]'", "22023"),
        ("'n', '* * * * *', 'k', debounce_scope => '3'", "22023"),
        ("'n', 'every day', 'k'", "22023"),
        ("'n', '* * * * * *', 'k'", "22023"),
        ("'n', '90 seconds', 'k'", "22023"),
    ],
)
def test_refuses_what_it_can_not_schedule_and_changes_nothing(home, arguments, code):
    with refused(home, code):
        home.execute(f"select cortex.schedule_job({arguments})")

    assert home.execute(ENTRIES).fetchall() == []
    assert pycortex.sql.list_schedules(home) == []


# spawn_scheduled


def test_spawns_one_job_at_a_time(home):
    pycortex.sql.schedule_job(home, "n", "0 3 * * *", "k")

    first = pycortex.sql.spawn_scheduled(home, "n")
    second = pycortex.sql.spawn_scheduled(home, "n")

    assert (first.created, second.created, second.uuid) == (True, False, first.uuid)


def test_spawns_in_the_mode_and_with_the_priority_that_were_given(home):
    pycortex.sql.schedule_job(home, "n", "0 3 * * *", "k", debounce_on="queued", priority=4)
    first = pycortex.sql.spawn_scheduled(home, "n")
    home.execute("select cortex.set_running(%s)", [first.uuid])

    second = pycortex.sql.spawn_scheduled(home, "n")

    assert second.created
    assert value(home, "select priority from cortex.jobs where uuid = %s", [second.uuid]) == 4


@pytest.mark.parametrize(("name", "code"), [(None, "22004"), ("nobody's", "22023")])
def test_refuses_to_spawn_what_is_not_scheduled(home, name, code):
    with refused(home, code):
        home.execute("select * from cortex.spawn_scheduled(%s)", [name])


# list_schedules


def test_lists_when_it_comes_next_and_how_it_went(home):
    home.execute("delete from cron.job_run_details")
    number = pycortex.sql.schedule_job(home, "nightly", "0 3 * * *", "k", params={"a": 1})
    job = pycortex.sql.spawn_scheduled(home, "nightly").uuid
    home.execute("select cortex.set_running(%s)", [job])
    home.execute("select cortex.finish_job(%s, 'failed', 'no disk')", [job])
    home.execute(
        "insert into cron.job_run_details"
        " (jobid, runid, database, username, command, status, return_message, start_time)"
        " values (%s, 1, 'cronhome', current_user, '', 'failed', 'old', '2020-01-01 03:00+00'),"
        " (%s, 2, 'cronhome', current_user, '', 'succeeded', '1 row', '2020-01-02 03:00+00')",
        [number, number],
    )

    [row] = rows(home, "select * from cortex.list_schedules()")

    assert row["last_run_at"].isoformat().startswith("2020-01-02T0")
    assert row["next_run_at"] == value(home, "select cortex.next_run('0 3 * * *')")
    assert {name: row[name] for name in row if name not in ("last_run_at", "next_run_at")} == {
        "name": "nightly",
        "schedule": "0 3 * * *",
        "kind": "k",
        "params": {"a": 1},
        "active": True,
        "last_run_status": "succeeded",
        "last_run_message": "1 row",
        "last_job": job,
        "last_job_status": "failed",
        "last_job_message": "no disk",
    }


def test_lists_a_schedule_that_was_switched_off_or_lost_as_not_active(home):
    """P17: after a restore the entries are gone; scheduling again puts them back."""
    number = pycortex.sql.schedule_job(home, "off", "0 3 * * *", "k")
    home.execute("select cron.alter_job(%s, active => false)", [number])
    lost = pycortex.sql.schedule_job(home, "lost", "0 3 * * *", "k")
    home.execute("select cron.unschedule(%s)", [lost])

    found = pycortex.sql.list_schedules(home)

    assert [(s.name, s.active, s.next_run_at) for s in found] == [
        ("lost", False, None),
        ("off", False, None),
    ]
    for schedule in found:
        pycortex.sql.schedule_job(home, schedule.name, schedule.schedule, schedule.kind)
    assert [s.active for s in pycortex.sql.list_schedules(home)] == [True, True]
    assert pycortex.sql.unschedule_job(home, "lost") is True


@pytest.mark.parametrize(
    ("line", "warned"),
    [
        ("0 0 * * sat-sun", True),  # 6-0 to pg_cron, which takes it and never runs it
        ("50-10 * * * *", True),
        ("0 0 31 2 *", True),
        ("0 0 29 2 *", False),
        ("0 0 * * fri-sat", False),
        ("00005 * * * *", False),
        ("@reboot", False),
    ],
)
@pytest.mark.parametrize("call", ["schedule_job('x', %s, 'k')", "schedule_work(%s)"])
def test_warns_of_a_schedule_that_pg_cron_takes_but_never_runs(home, call, line, warned):
    said: list[str] = []
    home.add_notice_handler(lambda notice: said.append(notice.message_primary or ""))

    home.execute(f"select cortex.{call}", [line])

    assert any("never to come true" in line for line in said) == warned
    assert value(home, "select schedule from cron.job") == line


def test_forgets_a_schedule_whose_entry_is_lost(home):
    number = pycortex.sql.schedule_job(home, "lost", "0 3 * * *", "k")
    home.execute("select cron.unschedule(%s)", [number])

    assert pycortex.sql.unschedule_job(home, "lost") is True
    assert pycortex.sql.unschedule_job(home, "lost") is False
    assert pycortex.sql.list_schedules(home) == []


def test_keeps_the_record_of_the_last_run_however_old(home):
    """P15: but no more of it."""
    home.execute("delete from cron.job_run_details")
    number = pycortex.sql.schedule_job(home, "yearly", "0 3 1 1 *", "k")
    [(command,)] = home.execute("select command from cron.job").fetchall()
    for run in (1, 2, 3):
        home.execute(
            "insert into cron.job_run_details"
            " (jobid, runid, database, username, command, status, start_time, end_time)"
            " values (%s, %s, 'cronhome', current_user, %s, 'succeeded',"
            " '2020-01-01 03:00+00', '2020-01-01 03:00+00')",
            [number, run, command],
        )

    home.execute("select cortex.maintain()")

    assert home.execute("select runid from cron.job_run_details").fetchall() == [(3,)]


def test_gives_a_hint_that_works_as_it_stands_where_pg_cron_lives_elsewhere(
    apart, cron_home, entries
):
    with psycopg.connect(apart, autocommit=True) as conn:
        with pytest.raises(psycopg.errors.FeatureNotSupported) as caught:
            pycortex.sql.schedule_job(
                conn, HOSTILE, "0 3 1 1 *", HOSTILE, params={"p": HOSTILE}, actor=HOSTILE
            )
        hint = caught.value.diag.message_hint
        with psycopg.connect(cron_home) as cron:
            cron.execute(hint[hint.index("select cron.") : hint.rindex(";")].encode())
            name = conn.info.dbname
            [(command,)] = cron.execute(
                "select command from cron.job where database = %s", [name]
            ).fetchall()

        conn.execute(command.encode())

        assert rows(conn, "select kind, params, actor, debounce_scope from cortex.jobs") == [
            {"kind": HOSTILE, "params": {"p": HOSTILE}, "actor": HOSTILE, "debounce_scope": {}}
        ]
        assert pycortex.sql.list_schedules(conn) == []
