"""cortex.rules and cortex.check_rules: what holds for a kind, and what can't hold for any."""

from __future__ import annotations

from datetime import timedelta

import pytest
from psycopg.types.json import Jsonb

from tests.sql.asking import refused, rows, value

RULES = "select * from cortex.rules(kind => %s)"
OWN = {
    "stale_after": timedelta(hours=5),
    "run_timeout": timedelta(hours=6),
    "queue_timeout": timedelta(hours=7),
    "max_attempts": 8,
    "backoff": timedelta(seconds=9),
    "on_interrupt": "requeue",
    "max_running": 10,
    "keep": timedelta(days=11),
}


def rules(conn, kind="test"):
    [found] = rows(conn, RULES, [kind])
    return found


def settings(conn):
    [found] = rows(conn, "select * from cortex.settings")
    return found


def insert(conn, **columns):
    conn.execute(
        f"insert into cortex.kind (name, {', '.join(columns)})"
        f" values ('test', {', '.join(['%s'] * len(columns))})",
        list(columns.values()),
    )


@pytest.mark.parametrize("kind", ["unknown", "", None])
def test_rules_are_the_settings_for_a_kind_that_says_nothing(conn, kind):
    assert rules(conn, kind) == settings(conn)


@pytest.mark.parametrize("name", OWN)
def test_rules_prefer_what_a_kind_says_and_nothing_else(conn, name):
    insert(conn, **{name: OWN[name]})

    assert rules(conn) == settings(conn) | {name: OWN[name]}


def test_rules_take_everything_that_a_kind_says(conn):
    insert(conn, **OWN)

    assert rules(conn) == settings(conn) | OWN


def test_rules_know_a_zero_from_nothing(conn):
    """keep and backoff may be zero; nothing falls back to the settings for it."""
    conn.execute("select cortex.configure(keep => '1 day')")
    insert(conn, keep="0", backoff="0")

    assert (rules(conn)["keep"], rules(conn)["backoff"]) == (timedelta(0), timedelta(0))


def test_rules_tell_kinds_apart_to_the_letter(conn):
    """I03."""
    insert(conn, max_running=3)

    limits = [rules(conn, kind)["max_running"] for kind in ("test", "Test", "test ", "t_st", "%")]
    assert limits == [3, None, None, None, None]


def test_every_setting_of_a_kind_is_one_of_the_settings(conn):
    """Else rules could not answer."""
    columns = (
        "select array_agg(attname::text) from pg_attribute where attrelid = %s::regclass"
        " and attnum > 0 and not attisdropped"
    )

    of_kinds = set(value(conn, columns, ["cortex.kind"])) - {"name"}

    assert of_kinds == set(OWN)
    assert of_kinds <= set(value(conn, columns, ["cortex.settings"]))


# check_rules

CHECK = """
    select cortex.check_rules(jsonb_populate_record(s, %s), %s) from cortex.settings as s
"""


def check(conn, kind=None, **columns):
    conn.execute(CHECK, [Jsonb(columns), kind])


def test_check_rules_is_content_with_the_first_settings(conn):
    check(conn)


@pytest.mark.parametrize(
    "columns",
    [
        {"stale_after": "1 microsecond"},
        {"keep": "0", "cancel_grace": "0", "backoff": "0"},
        {"backoff": "1 hour"},
        {"backoff": "0", "backoff_limit": "0"},
        {"runner_beat": "10 seconds"},
        {"max_attempts": 2, "on_interrupt": "requeue"},
        {"stale_after": "10000 years", "keep": "10000 years", "backoff_limit": "10000 years"},
        {"runner_beat": "1 day", "runner_grace": "3 days"},
        {"max_attempts": 2147483647, "max_running": 2147483647},
        {"run_timeout": "1 second", "queue_timeout": "7000 years"},
    ],
)
def test_check_rules_lets_pass_what_can_work(conn, columns):
    check(conn, **columns)


@pytest.mark.parametrize(
    "columns",
    [
        {"stale_after": "0"},
        {"run_timeout": "-1 microsecond"},
        {"queue_timeout": "0"},
        {"runner_beat": "0"},
        {"keep": "-1 microsecond"},
        {"cancel_grace": "-1 day"},
        {"backoff": "-1 day"},
        {"max_attempts": 0},
        {"max_running": 0},
        {"runner_beat": "10.000001 seconds"},
        {"runner_beat": "25 hours", "runner_grace": "7 days"},
        {"runner_grace": "10001 years"},
        {"stale_after": "10001 years"},
        {"run_timeout": "10001 years"},
        {"queue_timeout": "170000000 years"},
        {"keep": "10001 years"},
        {"cancel_grace": "10001 years"},
        {"backoff": "10001 years", "backoff_limit": "20000 years"},
        {"backoff_limit": "20000 years"},
        {"backoff": "1 hour 1 microsecond"},
        {"on_interrupt": "requeue"},
    ],
)
@pytest.mark.parametrize("kind", [None, "a kind"])
def test_check_rules_refuses_what_can_not_work(conn, columns, kind):
    with refused(conn, "22023") as caught:
        check(conn, kind, **columns)

    assert caught.value.diag.message_primary.startswith("kind a kind: ") == (kind is not None)


@pytest.mark.parametrize(
    "name",
    [
        *("stale_after", "run_timeout", "queue_timeout", "keep", "backoff", "backoff_limit"),
        *("cancel_grace", "runner_beat", "runner_grace"),
    ],
)
@pytest.mark.parametrize("span", ["infinity", "-infinity"])
def test_a_span_without_end_is_refused(conn, name, span):
    """D10: PostgreSQL 17 and newer know such intervals; older ones refuse them themselves."""
    with refused(conn, "22023", "22007"):
        conn.execute(f"select cortex.configure({name} => %s::interval)", [span])


@pytest.mark.parametrize(
    "columns",
    [
        {"stale_after": "0"},
        {"run_timeout": "0"},
        {"queue_timeout": "0"},
        {"keep": "-1 second"},
        {"cancel_grace": "-1 second"},
        {"backoff": "-1 second"},
        {"max_attempts": 0},
        {"max_running": 0},
        {"runner_beat": "0"},
        {"runner_beat": "1 hour"},
        {"backoff": "2 hours"},
        {"on_interrupt": "requeue"},
    ],
)
def test_the_table_refuses_it_too(conn, columns):
    """So that no routine, now or later, can break the rule."""
    [(name, bad)] = columns.items()

    with refused(conn, "23514"):
        conn.execute(f"update cortex.settings set {name} = %s", [bad])
