"""cortex.configure: the defaults for every kind, and the rhythm of runners."""

from datetime import timedelta

import pytest

from tests.sql.asking import refused, rows, table_of

CONFIGURATION = "select * from cortex.configuration"


def test_starts_with_two_hours_and_a_grace_of_six_beats(conn):
    [settings] = rows(conn, CONFIGURATION)

    assert settings == settings | {
        "stale_after": timedelta(hours=2),
        "keep": None,
        "runner_beat": timedelta(seconds=5),
        "runner_grace": timedelta(seconds=30),
    }


@pytest.mark.parametrize("name", ["stale_after", "keep", "runner_grace"])
def test_changes_what_it_is_told_and_nothing_else(conn, name):
    [before] = rows(conn, CONFIGURATION)

    conn.execute(f"select cortex.configure({name} => '3 days')")

    [after] = rows(conn, CONFIGURATION)
    assert after == before | {name: timedelta(days=3)}


def test_changes_several_settings_at_once(conn):
    conn.execute("select cortex.configure(runner_beat => '1 minute', runner_grace => '3 minutes')")

    [after] = rows(conn, CONFIGURATION)
    assert (after["runner_beat"], after["runner_grace"]) == (
        timedelta(minutes=1),
        timedelta(minutes=3),
    )


@pytest.mark.parametrize("arguments", ["", "null", "null, null, null, null"])
def test_leaves_what_is_left_out(conn, arguments):
    before = table_of(conn, "settings")

    conn.execute(f"select cortex.configure({arguments})")

    assert table_of(conn, "settings") == before


@pytest.mark.parametrize(
    "arguments",
    [
        "runner_beat => '11 seconds'",
        "runner_grace => '14 seconds'",
        "runner_beat => '30 seconds', runner_grace => '30 seconds'",
    ],
)
def test_refuses_a_grace_of_less_than_three_beats(conn, arguments):
    """A03: with both values in the message."""
    before = table_of(conn, "settings")

    with refused(conn, "22023") as caught:
        conn.execute(f"select cortex.configure({arguments})")

    said = caught.value.diag.message_primary
    assert table_of(conn, "settings") == before
    assert said.count("00:00:") == 2


@pytest.mark.parametrize(
    "arguments",
    [
        "stale_after => '0'",
        "stale_after => '-1 hour'",
        "keep => '-1 second'",
        "runner_beat => '0'",
        "runner_beat => '-5 seconds'",
        "runner_grace => '-30 seconds'",
    ],
)
def test_refuses_spans_that_make_no_sense(conn, arguments):
    before = table_of(conn, "settings")

    with refused(conn, "22023"):
        conn.execute(f"select cortex.configure({arguments})")

    assert table_of(conn, "settings") == before


def test_takes_a_grace_of_exactly_three_beats(conn):
    conn.execute("select cortex.configure(runner_grace => '15 seconds')")

    [after] = rows(conn, CONFIGURATION)
    assert after["runner_grace"] == timedelta(seconds=15)


def test_takes_a_grace_older_than_time_itself(conn, make_runner):
    """D10: nobody is ever presumed dead then, and nothing overflows."""
    runner = make_runner(alive=False)

    conn.execute("select cortex.configure(runner_grace => '7000 years')")

    assert rows(conn, "select uuid, alive from cortex.runners") == [{"uuid": runner, "alive": True}]


def test_takes_a_keep_of_no_time(conn):
    conn.execute("select cortex.configure(keep => '0')")

    [after] = rows(conn, CONFIGURATION)
    assert after["keep"] == timedelta(0)


# What issue 3 added: limits, retries, and the way back

EVERYTHING = {
    "stale_after": timedelta(hours=3),
    "run_timeout": timedelta(days=1),
    "queue_timeout": timedelta(days=2),
    "max_attempts": 5,
    "backoff": timedelta(seconds=30),
    "backoff_limit": timedelta(hours=2),
    "on_interrupt": "requeue",
    "max_running": 7,
    "keep": timedelta(days=90),
    "cancel_grace": timedelta(seconds=20),
    "runner_beat": timedelta(seconds=10),
    "runner_grace": timedelta(minutes=1),
}
ALL_OF_IT = "select cortex.configure({})".format(
    ", ".join(f"{name} => %({name})s" for name in EVERYTHING)
)


def test_changes_everything_at_once(conn):
    conn.execute(ALL_OF_IT, EVERYTHING)

    assert rows(conn, CONFIGURATION) == [EVERYTHING]


@pytest.mark.parametrize("name", EVERYTHING)
def test_resets_what_it_is_told_and_nothing_else(conn, name):
    [first] = rows(conn, CONFIGURATION)
    conn.execute(ALL_OF_IT, EVERYTHING | {"on_interrupt": "leave"})
    [before] = rows(conn, CONFIGURATION)

    conn.execute("select cortex.configure(reset => %s)", [[name]])

    assert rows(conn, CONFIGURATION) == [before | {name: first[name]}]


@pytest.mark.parametrize("order", [1, -1])
def test_resets_everything_at_once_in_any_order(conn, order):
    """No state between may be refused that nobody asked for."""
    [first] = rows(conn, CONFIGURATION)
    conn.execute(ALL_OF_IT, EVERYTHING | {"runner_beat": "5 minutes", "runner_grace": "1 hour"})

    conn.execute("select cortex.configure(reset => %s)", [list(EVERYTHING)[::order]])

    assert rows(conn, CONFIGURATION) == [first]


def test_resets_and_sets_in_one_call(conn):
    conn.execute("select cortex.configure(max_attempts => 3, on_interrupt => 'requeue')")

    conn.execute("select cortex.configure(on_interrupt => 'leave', reset => '{max_attempts}')")

    [after] = rows(conn, CONFIGURATION)
    assert (after["max_attempts"], after["on_interrupt"]) == (1, "leave")


def test_prefers_what_is_given_to_its_reset(conn):
    conn.execute("select cortex.configure(keep => '1 day', reset => '{keep}')")

    [after] = rows(conn, CONFIGURATION)
    assert after["keep"] == timedelta(days=1)


@pytest.mark.parametrize(
    "name", ["only_row", "no_such", "", None, "keep; drop table", "Keep", "ctid"]
)
def test_refuses_to_reset_what_is_no_setting(conn, name):
    before = table_of(conn, "settings")

    with refused(conn, "22023"):
        conn.execute(
            "select cortex.configure(stale_after => '1 hour', reset => %s)", [["keep", name]]
        )

    assert table_of(conn, "settings") == before


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("on_interrupt => 'requeue'", ["requeue", "1"]),
        ("backoff => '2 hours'", ["02:00:00", "01:00:00"]),
        ("backoff_limit => '5 seconds'", ["00:00:05", "00:00:10"]),
        ("backoff => '-1 second'", ["-00:00:01"]),
        ("max_attempts => 0", ["0"]),
        ("max_running => 0", ["0"]),
        ("max_running => -3", ["-3"]),
        ("run_timeout => '0'", ["00:00:00"]),
        ("queue_timeout => '-1 day'", ["-1 day"]),
        ("cancel_grace => '-1 second'", ["-00:00:01"]),
        ("runner_beat => '1 minute'", ["00:01:00", "00:00:30"]),
    ],
)
def test_refuses_what_can_not_work_and_names_the_values(conn, arguments, named):
    """A03."""
    before = table_of(conn, "settings")

    with refused(conn, "22023") as caught:
        conn.execute(f"select cortex.configure({arguments})")

    said = caught.value.diag.message_primary
    assert table_of(conn, "settings") == before
    assert all(name in said for name in named), said


@pytest.mark.parametrize(
    ("kind_says", "arguments", "reset"),
    [
        ("on_interrupt => 'requeue'", "max_attempts => 1", None),
        ("on_interrupt => 'requeue'", "stale_after => null", "{max_attempts}"),
        ("backoff => '50 minutes'", "backoff_limit => '40 minutes'", None),
    ],
)
def test_refuses_a_default_that_a_kind_can_not_live_with(conn, kind_says, arguments, reset):
    conn.execute("select cortex.configure(max_attempts => 3)")
    conn.execute(f"select cortex.configure_kind('report', {kind_says})")
    before = table_of(conn, "settings")

    with refused(conn, "22023") as caught:
        conn.execute(f"select cortex.configure({arguments}, reset => %s)", [reset])

    assert table_of(conn, "settings") == before
    assert "report" in caught.value.diag.message_primary


def test_does_not_read_the_sessions_style_of_intervals(conn):
    conn.execute("set local intervalstyle = 'sql_standard'")
    conn.execute(ALL_OF_IT, EVERYTHING)

    conn.execute("select cortex.configure(reset => '{stale_after, backoff}')")

    conn.execute("set local intervalstyle = 'postgres'")
    [after] = rows(conn, CONFIGURATION)
    assert (after["stale_after"], after["backoff"]) == (timedelta(hours=2), timedelta(seconds=10))
