"""cortex.next_run: when a cron line comes true next, as pg_cron reads it."""

import pytest

from tests.sql.asking import value

NEXT = "select cortex.next_run(%s, %s, %s) at time zone 'UTC'"
AFTER = "2026-11-30 23:10:30+00"  # a Monday


def next_run(conn, line, after=AFTER, zone="GMT"):
    moment = value(conn, NEXT, [line, after, zone])
    return None if moment is None else f"{moment:%Y-%m-%d %H:%M:%S}".removesuffix(":00")


@pytest.mark.parametrize(
    ("line", "moment"),
    [
        ("* * * * *", "2026-11-30 23:11"),
        ("*/5 * * * *", "2026-11-30 23:15"),
        ("10 23 * * *", "2026-12-01 23:10"),
        ("0 3 * * *", "2026-12-01 03:00"),
        ("  0   3\t* * * ", "2026-12-01 03:00"),
        ("0-10/3 23 * * *", "2026-12-01 23:00"),
        ("5/20 * * * *", "2026-11-30 23:25"),
        ("0,30 22-23 * * *", "2026-11-30 23:30"),
        ("0 0 1 JAN *", "2027-01-01 00:00"),
        ("15 10 * jan-mar sun", "2027-01-03 10:15"),
        ("0 0 * * 7", "2026-12-06 00:00"),
        ("0 0 * * 5-7", "2026-12-04 00:00"),
        ("0 0 29 2 *", "2028-02-29 00:00"),
        ("00005 0000 * * *", "2026-12-01 00:05"),
        ("0 0 31 4,6,9,11 *", None),
        ("0 0 * * sat-sun", None),
        ("0 0 30 2 *", None),
        ("@daily", "2026-12-01 00:00"),
        ("@HOURLY", "2026-12-01 00:00"),
        ("@weekly", "2026-12-06 00:00"),
        ("@yearly", "2027-01-01 00:00"),
        ("30 seconds", "2026-11-30 23:11"),
        ("1 second", "2026-11-30 23:10:31"),
        ("0 0 $ * *", "2026-12-31 00:00"),
        ("0 0 $ 2 *", "2027-02-28 00:00"),
    ],
)
def test_finds_the_moment(conn, line, moment):
    assert next_run(conn, line) == moment


@pytest.mark.parametrize(
    ("line", "moment"),
    [
        ("0 0 13 * fri", "2026-12-04 00:00"),  # the 13th, or a Friday
        ("0 0 2 * mon", "2026-12-02 00:00"),
        ("0 0 13 * *", "2026-12-13 00:00"),
        ("0 0 * * fri", "2026-12-04 00:00"),
        ("0 0 */2 * mon", "2026-12-07 00:00"),  # begins with a star: a Monday of an odd date
        ("0 0 3 * */3", "2027-01-03 00:00"),  # the 3rd, if it is a Sunday, Wednesday or Saturday
    ],
)
def test_takes_the_day_or_the_weekday_but_both_where_one_begins_with_a_star(conn, line, moment):
    assert next_run(conn, line) == moment


@pytest.mark.parametrize(
    "line",
    [
        "",
        "nonsense",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * * 13 *",
        "* * * * 8",
        "1,2 * * *",
        "* * * * * *",
        "5-1 * * * *",
        "*/0 * * * *",
        "a * * * *",
        "* * * foo *",
        "-1 * * * *",
        "1- * * * *",
        "@reboot",
        "1,,2 * * * *",
        "* * * mon *",
    ],
)
def test_says_nothing_of_what_is_no_line(conn, line):
    assert next_run(conn, line) is None


@pytest.mark.parametrize(
    ("after", "moment"),
    [
        ("2026-06-01 12:00+00", "2026-06-02 01:00"),  # summer
        ("2026-12-01 12:00+00", "2026-12-02 02:00"),  # winter
    ],
)
def test_reads_a_line_in_the_zone_of_pg_cron(conn, after, moment):
    assert next_run(conn, "0 3 * * *", after, "Europe/Berlin") == moment


def test_minds_no_time_zone_of_the_session(conn):
    conn.execute("set local timezone = 'Asia/Kolkata'")

    assert next_run(conn, "0 3 * * *") == "2026-12-01 03:00"


def test_is_never_now(conn):
    assert next_run(conn, "0 3 * * *", "2026-12-01 03:00:00+00") == "2026-12-02 03:00"
