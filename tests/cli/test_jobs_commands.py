"""spawn, list, show, count and counts."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest

# fmt: off
EVERY_COLUMN = [
    "uuid", "kind", "status", "health", "progress_current", "progress_total", "message",
    "actor", "params", "result", "created_at", "updated_at", "started_at", "finished_at",
    "duration_seconds", "seconds_since_update", "attempt", "priority", "run_at",
    "debounce_scope", "runner", "cancel_requested_at", "cancel_requested_by",
]
# fmt: on


def test_spawn_prints_the_uuid_of_a_job_with_everything_it_was_told(cli, committed):
    result = cli(
        *("spawn", "demo", "--params", '{"a": [1, "ü"]}', "--actor", "ada"),
        *("--scope", '{"x": 1}', "--run-at", "2031-05-01T03:00:00+02:00", "--priority", "-5"),
        *("--debounce-on", "queued"),
    )

    row = committed.conn.execute(
        "select uuid::text, kind, actor, params, debounce_scope, run_at at time zone 'UTC' ="
        " '2031-05-01 01:00', priority, debounce_on::text from cortex.job"
    ).fetchone()
    assert result.exit_code == 0
    assert row == (
        *(result.stdout.strip(), "demo", "ada", {"a": [1, "ü"]}, {"x": 1}, True, -5, "queued"),
    )


def test_spawn_says_when_another_job_stands_in(cli):
    first = cli("spawn", "demo", "--scope", "{}")

    second = cli("spawn", "demo", "--scope", "{}")

    assert second.exit_code == 0
    assert second.stdout == first.stdout
    assert "not created" in second.stderr


def test_spawn_tells_programs_whether_it_created(cli_json):
    first = cli_json("spawn", "demo", "--scope", "{}")

    second = cli_json("spawn", "demo", "--scope", "{}")

    assert first == {"uuid": second["uuid"], "created": True}
    assert second["created"] is False


@pytest.mark.parametrize(
    "params",
    [
        "{bad",
        "[]",
        "null",
        '"x"',
        "7",
        "",
        "@missing.json",
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": "\\u0000"}',
        '{"a": "\\ud800"}',
        '{"a": ' + "[" * 20000 + "]" * 20000 + "}",
        "-",
    ],
)
def test_spawn_refuses_params_that_are_no_json_object(cli, committed, params):
    """N08, E04"""
    result = cli("spawn", "demo", "--params", params)

    assert result.exit_code == 2
    assert "--params" in result.stderr
    assert committed.conn.execute("select count(*) from cortex.job").fetchone() == (0,)


def test_spawn_shows_where_json_is_broken(cli):
    """N08"""
    result = cli("spawn", "demo", "--params", '{"a": 1,\n "b" 2}')

    assert "line 2, column 6" in result.stderr


def test_spawn_takes_params_from_a_file(cli, committed, tmp_path):
    """N08"""
    (tmp_path / "params.json").write_text('{"from": "file"}')

    cli("spawn", "demo", "--params", f"@{tmp_path / 'params.json'}")

    assert committed.conn.execute("select params from cortex.job").fetchone() == ({"from": "file"},)


def test_spawn_takes_five_megabytes_from_standard_input(cli, committed):
    """N08"""
    result = cli("spawn", "demo", "--params", "-", input=json.dumps({"a": "x" * 5_000_000}))

    assert result.exit_code == 0
    assert committed.conn.execute("select length(params ->> 'a') from cortex.job").fetchone() == (
        5_000_000,
    )


def test_spawn_keeps_integers_exact(cli, committed):
    """E10"""
    cli("spawn", "demo", "--params", '{"id": 9007199254740993}')

    assert committed.conn.execute("select params ->> 'id' from cortex.job").fetchone() == (
        "9007199254740993",
    )


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("",), 1),
        (("   ",), 1),
        (("k" * 201,), 1),
        (("demo", "--actor", "a" * 201), 1),
        (("demo", "--run-at", "2031-05-01T03:00:00"), 2),
        (("demo", "--run-at", "tomorrow"), 2),
        (("demo", "--priority", "9999999999"), 2),
        (("demo", "--scope", "[1]"), 2),
        (("demo", "--debounce-on", "never"), 2),
        (("demo\udcff",), 2),
        (("demo", "--actor", "ada\udcff"), 2),
    ],
)
def test_spawn_refuses_bad_input_and_changes_nothing(cli, committed, arguments, code):
    result = cli("spawn", *arguments)

    assert result.exit_code == code
    assert result.stdout == ""
    assert result.stderr
    assert committed.conn.execute("select count(*) from cortex.job").fetchone() == (0,)


def test_list_shows_one_line_per_job_whatever_its_message_holds(cli, committed):
    """E13"""
    uuid = committed.make_job("running", message="a\nb\tc\r\x1b[31mred")

    result = cli("list")

    [_, line] = result.stdout.splitlines()
    assert str(uuid) in line
    assert r"a\nb\tc\r\x1b[31mred" in line
    assert "\x1b" not in result.stdout


def test_list_gives_programs_the_columns_of_the_view_and_the_exact_text(cli_json, committed):
    """E13, F06"""
    uuid = committed.make_job("running", message="a\nb\x1b[31m")

    [job] = cli_json("list")

    assert list(job) == EVERY_COLUMN
    assert job["uuid"] == str(uuid)
    assert job["message"] == "a\nb\x1b[31m"
    assert job["created_at"].endswith(("+00:00", "Z"))


def test_list_can_leave_out_what_is_over(cli_json, committed):
    committed.make_job("succeeded")
    waiting = committed.make_job("queued")

    jobs = cli_json("list", "--active")

    assert [job["uuid"] for job in jobs] == [str(waiting)]


def test_list_closes_what_only_looks_alive_first(cli_json, committed):
    committed.make_job("running", silent_for="3 hours")

    [job] = cli_json("list")

    assert job["status"] == "interrupted"


@pytest.mark.parametrize("limit", ["-1", "abc", "99999999999", "1.5"])
def test_list_refuses_a_limit_that_is_none(cli, limit):
    """N09"""
    assert cli("list", "--limit", limit).exit_code == 2


def test_list_of_nothing_is_an_empty_array_for_programs(cli_json):
    assert cli_json("list") == []


def test_list_shows_a_percentage_of_absurd_numbers_without_a_trace(cli, committed):
    """E12"""
    for current, total in ((-1, 10), (5, 0), (11, 10), (2**62, -5)):
        committed.make_job("running", progress_current=current, progress_total=total)

    result = cli("list")

    assert result.exit_code == 0
    assert "-1/10" in result.stdout


def test_show_takes_a_uuid_in_any_case_and_its_first_digits(cli, committed):
    uuid = committed.make_job("failed", message="no luck")

    for name in (str(uuid), str(uuid).upper(), uuid.hex, str(uuid)[:8], str(uuid)[:13].upper()):
        result = cli("show", name)

        assert result.exit_code == 0, name
        assert str(uuid) in result.stdout


def test_show_tells_the_history(cli):
    uuid = cli("spawn", "demo", "--actor", "ada").stdout.strip()

    result = cli("show", uuid)

    assert "history" in result.stdout
    assert "(by ada)" in result.stdout


def test_show_refuses_digits_that_begin_two_uuids(cli, committed):
    for last in "12":
        committed.make_job(uuid=f"12345678-0000-4000-8000-00000000000{last}")

    result = cli("show", "12345678")

    assert result.exit_code == 1
    assert "more than one" in result.stderr


@pytest.mark.parametrize("command", ["show", "watch", "wait"])
@pytest.mark.parametrize("uuid", ["garbage", "123", "", "-1", "12345678-zzzz"])
def test_garbage_is_no_uuid(cli, command, uuid):
    """N09"""
    result = cli(command, uuid)

    assert result.exit_code == 2
    assert result.stdout == ""


@pytest.mark.parametrize("command", ["show", "watch", "wait"])
def test_a_job_that_never_was_is_named_in_one_sentence(cli, command):
    uuid = uuid4()

    result = cli(command, str(uuid))

    assert result.exit_code == 1
    assert f"no such job: {uuid}" in result.stderr


def test_count_counts_one_status(cli, committed):
    committed.make_job("failed")
    committed.make_job("failed", silent_for="3 hours")

    assert cli("count", "failed").stdout == "2\n"
    assert cli("count", "failed", "--hours", "1").stdout == "1\n"
    assert cli("count", "failed", "--hours", "0").stdout == "0\n"
    assert cli("count", "failed", "--hours", "1e30").stdout == "2\n"


@pytest.mark.parametrize("hours", ["-1", "nan", "x", ""])
def test_count_refuses_hours_that_make_no_window(cli, hours):
    """F07"""
    assert cli("count", "failed", "--hours", hours).exit_code == 2


def test_count_refuses_a_status_that_is_none(cli):
    assert cli("count", "done").exit_code == 2


def test_counts_puts_every_job_in_one_bucket(cli_json, committed):
    """Q02"""
    for status in ("queued", "running", "succeeded", "failed", "interrupted", "cancelled"):
        committed.make_job(status)

    rows = cli_json("counts")

    assert {row["status"]: row["jobs"] for row in rows} == dict.fromkeys(
        ("queued", "running", "succeeded", "failed", "interrupted", "cancelled"), 1
    )


def test_counts_shows_a_line_per_kind(cli, committed):
    committed.make_job("failed", kind="a")
    committed.make_job("queued", kind="b")

    [heading, *lines] = cli("counts").stdout.splitlines()

    assert heading.split()[:3] == ["KIND", "QUEUED", "RUNNING"]
    assert [line.split() for line in lines] == [
        ["a", "0", "0", "0", "1", "0", "0"],
        ["b", "1", "0", "0", "0", "0", "0"],
    ]
