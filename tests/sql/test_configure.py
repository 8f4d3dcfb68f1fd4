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
