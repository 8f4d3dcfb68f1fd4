"""The table of rights in docs/security.md says what grants.sql does."""

import re
from pathlib import Path

from tests.sql.asking import value
from tests.test_parity import LADDER

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
ROW = re.compile(r"^\| `(cortex_\w+)` \| (.*) \|$", re.MULTILINE)
INTERNAL = {
    *("analyze_table", "attach_session", "clock", "cron_field", "cron_name", "end_body"),
    *("fail_body", "kinds_to_work", "lock_space", "lost_bodies", "maintenance_key"),
    *("next_run", "partition_tree"),
    *("purge_cron_runs", "put_cron_entry", "put_sql_kind", "refused_commit", "relation_bytes"),
    *("require_cron", "rules", "run_analyze", "run_populate_report", "run_refresh_reports"),
    *("settle_bodies", "sql_body", "table_indexes", "take_cron_entry", "tree_bytes"),
}
"""Routines that are open because others need them; the text below the table says so."""


def test_the_table_names_every_routine_beside_the_least_role_that_may_call_it(conn):
    told, below = {}, set()
    for role, text in ROW.findall(PAGE.read_text(encoding="utf-8")):
        told[role] = set(re.findall(r"`(\w+)`", text))

    allowed = {}
    for role in LADDER:
        may = value(
            conn,
            "select coalesce(array_agg(proname::text), '{}') from pg_proc"
            " where pronamespace = 'cortex'::regnamespace"
            " and has_function_privilege(%s, oid, 'execute')",
            [role],
        )
        allowed[role] = set(may) - below - INTERNAL
        below |= set(may)

    assert told == allowed


def test_the_text_names_the_internal_routines_that_are_open():
    text = PAGE.read_text(encoding="utf-8")

    assert {name for name in INTERNAL if f"`{name}`" in text} == INTERNAL
