"""All routines, whatever the caller's session is set to."""

from pathlib import Path

import pytest

from tests.sql import life
from tests.sql.asking import rows, value
from tests.sql.life import live

FUNCTIONS = Path(__file__).parents[2] / "sql" / "functions"


@pytest.fixture
def conn(fresh_conn):
    """Routines are compiled in a session once; under its settings."""
    return fresh_conn


BUILT_IN = {"analyze", "populate_report", "refresh_reports", "reindex"}
SETTINGS = [
    ("timezone", "Asia/Tokyo"),
    ("timezone", "America/New_York"),
    ("datestyle", "German, DMY"),
    ("datestyle", "SQL, MDY"),
    ("intervalstyle", "sql_standard"),
    ("intervalstyle", "iso_8601"),
    ("standard_conforming_strings", "off"),
    ("backslash_quote", "off"),
    ("transform_null_equals", "on"),
    ("array_nulls", "off"),
    ("quote_all_identifiers", "on"),
    ("extra_float_digits", "-15"),
    ("bytea_output", "escape"),
    ("row_security", "off"),
    ("plan_cache_mode", "force_generic_plan"),
    ("plpgsql.extra_errors", "all"),
    ("client_encoding", "LATIN1"),
    ("default_transaction_isolation", "serializable"),
    ("default_transaction_deferrable", "on"),
    ("lock_timeout", "1s"),
    ("search_path", ""),
    ("search_path", "nowhere"),
    ("search_path", "cortex"),
    ("search_path", "cortex, pg_catalog"),
    ("search_path", "pg_temp, public"),
]


@pytest.mark.parametrize(("name", "setting"), SETTINGS)
def test_all_work_under_any_setting(conn, name, setting):
    """I06, F03: and none of them leaves the setting changed."""
    conn.execute("select set_config(%s, %s, false)", [name, setting])
    if name == "default_transaction_isolation":
        conn.rollback()
    before = value(conn, "select current_setting(%s)", [name])

    live(conn)

    assert value(conn, "select current_setting(%s)", [name]) == before


def test_all_are_all_that_there_are():
    """What isn't called here is proved nowhere to work under a setting."""
    called = Path(life.__file__).read_text(encoding="utf-8")

    missing = [
        file.stem for file in FUNCTIONS.glob("*/*.sql") if f"cortex.{file.stem}(" not in called
    ]

    assert missing == []


def test_all_raise_no_warning(conn, notices):
    conn.execute("set plpgsql.extra_warnings = 'all'")

    live(conn)

    assert [said for said in notices if "waits for a runner" not in said] == []


@pytest.mark.parametrize(
    "word",
    [
        "'; drop table cortex.job; --",
        "%s %I %L %% %",
        r"\x00 \' \\ $$ $1 :name",
        '"}, {"',
        "é e\u0301 \u200b \U0001f600 \u202e",
        "a\nb\tc\r\x1b[31m",
        "null",
        "{}",
    ],
)
def test_all_take_words_as_words(conn, word):
    """I03."""
    live(conn, kind=word, text=word)

    kinds = {row["kind"] for row in rows(conn, "select kind from cortex.job")}
    assert kinds - BUILT_IN == {word}


@pytest.mark.parametrize("start", [2147483640, 9223372036854770000])
def test_all_work_with_ids_beyond_the_largest_int4(conn, start):
    """E14."""
    for table in ("job", "event"):
        conn.execute(f"alter table cortex.{table} alter column id restart with {start}")
    conn.execute("insert into cortex.job (kind) select 'before' from generate_series(1, 10)")
    conn.execute("delete from cortex.job")

    live(conn)

    assert value(conn, "select min(id) from cortex.job") > start
