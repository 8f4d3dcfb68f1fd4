"""cortex.configure_kind: what one kind of job does otherwise than the settings."""

from datetime import timedelta

import pytest

from tests.sql.asking import refused, table_of

HOUR = timedelta(hours=1)


def kinds(conn):
    return [(k["name"], k["stale_after"], k["keep"]) for k in table_of(conn, "kind")]


def test_enters_a_kind(conn):
    conn.execute("select cortex.configure_kind('report', stale_after => '1 hour', keep => '0')")

    assert kinds(conn) == [("report", HOUR, timedelta(0))]


def test_changes_what_it_is_told_and_nothing_else(conn):
    conn.execute("insert into cortex.kind (name, stale_after) values ('report', '1 hour')")
    conn.execute("insert into cortex.kind (name, stale_after) values ('other', '2 hours')")

    conn.execute("select cortex.configure_kind(kind => 'report', keep => '1 hour')")

    assert kinds(conn) == [("other", HOUR * 2, None), ("report", HOUR, HOUR)]


def test_leaves_what_is_left_out(conn):
    conn.execute("insert into cortex.kind (name, stale_after) values ('report', '1 hour')")
    before = table_of(conn, "kind")

    conn.execute("select cortex.configure_kind('report')")
    conn.execute("select cortex.configure_kind('report', null, null)")

    assert table_of(conn, "kind") == before


def test_refuses_a_null_kind(conn):
    with refused(conn, "22004"):
        conn.execute("select cortex.configure_kind(null)")


@pytest.mark.parametrize("kind", ["", "  ", "x" * 201])
def test_refuses_a_kind_that_is_blank_or_too_long(conn, kind):
    with refused(conn, "22023"):
        conn.execute("select cortex.configure_kind(%s)", [kind])

    assert table_of(conn, "kind") == []


@pytest.mark.parametrize(
    "arguments", ["stale_after => '0'", "stale_after => '-1 hour'", "keep => '-1 second'"]
)
def test_refuses_spans_that_make_no_sense(conn, arguments):
    conn.execute("insert into cortex.kind (name, stale_after) values ('report', '1 hour')")
    before = table_of(conn, "kind")

    with refused(conn, "22023"):
        conn.execute(f"select cortex.configure_kind('report', {arguments})")

    assert table_of(conn, "kind") == before


# What issue 3 added: limits, retries, and the way back

EVERYTHING = {
    "stale_after": HOUR * 3,
    "run_timeout": HOUR * 24,
    "queue_timeout": HOUR * 48,
    "max_attempts": 5,
    "backoff": timedelta(seconds=30),
    "on_interrupt": "requeue",
    "max_running": 7,
    "keep": HOUR * 100,
}
ALL_OF_IT = "select cortex.configure_kind('report', {})".format(
    ", ".join(f"{name} => %({name})s" for name in EVERYTHING)
)


def test_says_everything_at_once(conn):
    conn.execute(ALL_OF_IT, EVERYTHING)

    assert table_of(conn, "kind") == [{"name": "report"} | EVERYTHING]


@pytest.mark.parametrize("name", EVERYTHING)
def test_gives_back_to_the_settings_what_it_is_told_and_nothing_else(conn, name):
    conn.execute(ALL_OF_IT, EVERYTHING | {"on_interrupt": "leave"})
    [before] = table_of(conn, "kind")

    conn.execute("select cortex.configure_kind('report', reset => %s)", [[name]])

    assert table_of(conn, "kind") == [before | {name: None}]


@pytest.mark.parametrize("order", [1, -1])
def test_gives_everything_back_at_once_in_any_order(conn, order):
    conn.execute(ALL_OF_IT, EVERYTHING)

    conn.execute("select cortex.configure_kind('report', reset => %s)", [list(EVERYTHING)[::order]])

    assert table_of(conn, "kind") == [{"name": "report"} | dict.fromkeys(EVERYTHING)]


def test_gives_back_only_what_that_kind_says(conn):
    conn.execute("select cortex.configure_kind('other', keep => '1 hour')")
    conn.execute("select cortex.configure_kind('report', keep => '1 hour')")

    conn.execute("select cortex.configure_kind('report', reset => '{keep}')")

    assert kinds(conn) == [("other", None, HOUR), ("report", None, None)]


def test_prefers_what_is_given_to_its_reset(conn):
    conn.execute("select cortex.configure_kind('report', keep => '1 hour', reset => '{keep}')")

    assert kinds(conn) == [("report", None, HOUR)]


@pytest.mark.parametrize(
    "name", ["name", "runner_beat", "backoff_limit", "cancel_grace", "no_such", "", None]
)
def test_refuses_to_reset_what_is_no_setting_of_a_kind(conn, name):
    with refused(conn, "22023"):
        conn.execute(
            "select cortex.configure_kind('report', keep => '1 hour', reset => %s)", [[name]]
        )

    assert table_of(conn, "kind") == []


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("on_interrupt => 'requeue'", ["requeue", "1"]),
        ("on_interrupt => 'requeue', max_attempts => 1", ["requeue", "1"]),
        ("backoff => '2 hours'", ["02:00:00", "01:00:00"]),
        ("backoff => '-1 second'", ["-00:00:01"]),
        ("max_attempts => 0", ["0"]),
        ("max_running => 0", ["0"]),
        ("run_timeout => '0'", ["00:00:00"]),
        ("queue_timeout => '-1 day'", ["-1 day"]),
    ],
)
def test_refuses_what_can_not_work_and_names_the_values(conn, arguments, named):
    with refused(conn, "22023") as caught:
        conn.execute(f"select cortex.configure_kind('report', {arguments})")

    said = caught.value.diag.message_primary
    assert table_of(conn, "kind") == []
    assert all(name in said for name in named), said


def test_may_lean_on_a_default(conn):
    conn.execute("select cortex.configure(max_attempts => 3)")

    conn.execute("select cortex.configure_kind('report', on_interrupt => 'requeue')")

    assert table_of(conn, "kind")[0]["on_interrupt"] == "requeue"


def test_refuses_to_lean_on_a_default_that_is_not_enough(conn):
    conn.execute(
        "select cortex.configure_kind('report', max_attempts => 3, on_interrupt => 'requeue')"
    )
    before = table_of(conn, "kind")

    with refused(conn, "22023"):
        conn.execute("select cortex.configure_kind('report', reset => '{max_attempts}')")

    assert table_of(conn, "kind") == before


@pytest.mark.parametrize("kind", ["a'b", 'a"b', "a;b", "é", "a\\b", "%s", "x" * 200])
def test_takes_a_kind_to_the_letter(conn, kind):
    """I03, and no injection by the way of the dynamic reset."""
    conn.execute("select cortex.configure_kind(%s, keep => '1 hour')", [kind])
    conn.execute("select cortex.configure_kind(%s, reset => '{keep}')", [kind])

    assert kinds(conn) == [(kind, None, None)]
