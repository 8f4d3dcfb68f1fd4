"""The view cortex.kinds: the rules in force for every configured kind."""

from datetime import timedelta

from tests.sql.asking import rows, value

KINDS = "select * from cortex.kinds order by kind"


def test_shows_what_a_kind_says_and_the_settings_for_the_rest(conn):
    conn.execute("select cortex.configure(run_timeout => '1 day', keep => '90 days')")
    conn.execute(
        "select cortex.configure_kind('report', stale_after => '8 hours', keep => '1 day')"
    )

    [seen] = rows(conn, KINDS)

    assert seen == {
        "kind": "report",
        "stale_after": timedelta(hours=8),
        "run_timeout": timedelta(days=1),
        "queue_timeout": None,
        "max_attempts": 1,
        "backoff": timedelta(seconds=10),
        "on_interrupt": "leave",
        "max_running": None,
        "keep": timedelta(days=1),
    }


def test_follows_a_change_of_the_settings(conn):
    conn.execute("select cortex.configure_kind('report', keep => '1 day')")

    conn.execute("select cortex.configure(max_attempts => 4)")

    [seen] = rows(conn, KINDS)
    assert seen["max_attempts"] == 4


def test_knows_only_kinds_that_were_configured(conn, make_job):
    make_job("running", kind="report")

    assert rows(conn, KINDS) == []


def test_shows_a_kind_that_gave_everything_back(conn):
    conn.execute("select cortex.configure_kind('report', keep => '1 day')")
    conn.execute("select cortex.configure_kind('report', reset => '{keep}')")

    [seen] = rows(conn, KINDS)
    assert (seen["kind"], seen["keep"]) == ("report", None)


def test_names_its_columns_like_the_arguments_of_configure_kind(conn):
    arguments = value(
        conn,
        "select proargnames from pg_proc where oid = to_regproc('cortex.configure_kind')",
    )

    columns = [
        row["attname"]
        for row in rows(
            conn,
            "select attname::text from pg_attribute where attrelid = 'cortex.kinds'::regclass"
            " and attnum > 0 order by attnum",
        )
    ]
    assert [*columns, "reset"] == arguments
