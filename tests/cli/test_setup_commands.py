"""install, sql and doctor."""

from __future__ import annotations

import subprocess

import psycopg
import pytest

from pycortex.doctor import Level, examine


@pytest.fixture
def on_empty(pycortex, empty_database):
    """The command on a database in which nothing is installed."""
    pycortex.environment["PYCORTEX_DATABASE_URL"] = empty_database
    return pycortex


def levels(conninfo: str) -> dict[str, Level]:
    return {check.name: check.level for check in examine(conninfo)}


def test_install_prints_what_it_applied_and_then_that_nothing_is_left(on_empty):
    first = on_empty("install")
    second = on_empty("install")

    assert (first.returncode, second.returncode) == (0, 0)
    assert first.stdout.startswith("applied  0001")
    assert second.stdout.startswith("no new migrations")


def test_install_can_leave_out_corpus(on_empty, empty_database):
    on_empty("install", "--without-corpus")

    with psycopg.connect(empty_database) as conn:
        assert conn.execute("select to_regnamespace('corpus')").fetchone() == (None,)


def test_sql_goes_to_standard_output_without_a_database(bare_pycortex):
    result = bare_pycortex("sql")

    assert result.returncode == 0
    assert result.stdout.rstrip().endswith("commit;")
    assert result.stderr == ""


def test_sql_installs_through_psql(on_empty, empty_database):
    script = on_empty("sql").stdout

    done = subprocess.run(
        ["psql", "-X", "-q", "-d", empty_database],
        input=script,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert on_empty("list", "--json").stdout == "[]\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("list",),
        ("spawn", "demo"),
        ("counts",),
        ("reap",),
        ("show", "0b5f2c1e-7a34-4b7e-9c55-6f0c1f3f8a10"),
        ("watch",),
        ("wait", "0b5f2c1e-7a34-4b7e-9c55-6f0c1f3f8a10"),
        ("worker",),
        ("reindex",),
        ("analyze", "--queue"),
        ("report", "show", "1", "1", "error"),
        ("schedule",),
        ("interrupt-orphans", "--yes"),
    ],
)
def test_every_command_says_how_to_install_where_nothing_is(on_empty, arguments):
    result = on_empty(*arguments)

    assert result.returncode == 1
    assert "isn't installed in this database" in result.stderr
    assert "pycortex install" in result.stderr
    assert "Traceback" not in result.stderr


def test_report_commands_say_when_corpus_was_left_out(on_empty):
    on_empty("install", "--without-corpus")

    result = on_empty("report", "populate", "1", "1", "error")

    assert result.returncode == 1
    assert "corpus" in result.stderr


def test_doctor_finds_nothing_wrong_with_a_new_installation(cli, database):
    result = cli("doctor")

    assert result.exit_code == 0
    assert levels(database)["schema"] is Level.OK
    assert Level.ERROR not in levels(database).values()


def test_doctor_ends_with_1_where_nothing_is_installed(on_empty, empty_database):
    result = on_empty("doctor")

    assert result.returncode == 1
    assert "pycortex install" in result.stdout
    assert levels(empty_database)["schema"] is Level.ERROR


def test_doctor_knows_an_older_schema(cli, committed):
    committed.conn.execute("delete from cortex._yoyo_migration where migration_id like '0006%'")

    result = cli("doctor")

    assert result.exit_code == 1
    assert "0006" in result.stdout


def test_doctor_knows_a_newer_schema(cli, committed):
    committed.conn.execute(
        "insert into cortex._yoyo_migration values ('x', '9999.of-tomorrow', now())"
    )

    result = cli("doctor")

    assert result.exit_code == 1
    assert "9999.of-tomorrow" in result.stdout


def test_doctor_names_the_kinds_that_wait_and_that_nobody_takes(cli, committed, database):
    """I13."""
    runner = committed.make_runner()
    committed.conn.execute("select cortex.claim_jobs(%s, '{known}')", [runner])
    committed.make_job("queued", kind="known")
    assert levels(database)["kinds"] is Level.OK
    committed.make_job("queued", kind="strange")

    assert levels(database)["kinds"] is Level.WARNING
    assert "'strange' (1)" in cli("doctor").stdout


def test_doctor_counts_what_only_looks_alive_and_leaves_it(committed, database):
    committed.make_job("running", silent_for="3 hours")
    committed.make_job("running", runner=committed.make_runner(alive=False))

    found = levels(database)

    assert (found["stale jobs"], found["orphans"]) == (Level.WARNING, Level.WARNING)
    assert committed.conn.execute(
        "select count(*) from cortex.job where status = 'running'"
    ).fetchone() == (2,)


def test_doctor_misses_a_runner_where_jobs_wait(committed, database):
    committed.make_job("queued")

    assert levels(database)["runners"] is Level.WARNING


def test_doctor_sees_that_upkeep_ran(committed, database):
    assert levels(database)["upkeep"] is Level.WARNING

    committed.conn.execute("select cortex.maintain()")

    assert levels(database)["upkeep"] is Level.OK


def test_doctor_gives_programs_name_level_message_and_hint(cli_json):
    checks = cli_json("doctor")

    assert {"server", "encoding", "schema", "pg_cron", "upkeep", "runners"} <= {
        check["name"] for check in checks
    }
    assert all(set(check) == {"name", "level", "message", "hint"} for check in checks)
