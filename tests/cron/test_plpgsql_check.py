"""plpgsql_check finds nothing in any routine; here, because some of them call pg_cron."""

from __future__ import annotations

import pytest

CHECK = """
select p.oid::regproc::text, c.level, concat_ws(': ', c.lineno, c.statement, c.message, c.hint)
from pg_proc as p
join pg_language as l on l.oid = p.prolang and l.lanname = 'plpgsql'
left join pg_trigger as t on t.tgfoid = p.oid and not t.tgisinternal
cross join plpgsql_check_function_tb(
    funcoid => p.oid, relid => coalesce(t.tgrelid, 0), fatal_errors => false,
    other_warnings => true, extra_warnings => true, security_warnings => true,
    oldtable => case when t.tgnargs is not null then 'old_rows' end,
    newtable => case when t.tgnargs is not null then 'new_rows' end
) as c
where p.pronamespace::regnamespace::text in ('cortex', 'corpus')
"""

JUDGED = {
    # It runs the defaults that our own migrations wrote.
    ("cortex.reset_values", "security", ""),
    # They commit where they can't, to find out whether they could.
    ("cortex.refused_commit", "error", "COMMIT"),
    ("cortex.work", "error", "COMMIT"),
    # What it runs was put together by format, elsewhere; the procedure is made at run time.
    ("cortex.work", "security", "EXECUTE"),
    ("cortex.work", "error", "pg_temp"),
    # Where an expression is wanted, a value goes there that nobody needs.
    ("cortex.record_event", "warning extra", "never read"),
    # It returns what a query does.
    ("corpus.count_tasks", "warning extra", "maybe unmodified"),
}
"""What it finds and we have looked at: (routine, level, part of the text)."""


def test_finds_nothing(home):
    (there,) = home.execute(
        "select exists (select from pg_available_extensions where name = 'plpgsql_check')"
    ).fetchone()
    if not there:
        pytest.skip("no extension plpgsql_check: on Debian, package postgresql-15-plpgsql-check")
    home.execute("create extension plpgsql_check")

    complaints = [
        row
        for row in home.execute(CHECK).fetchall()
        if not any(row[:2] == judged[:2] and judged[2] in row[2] for judged in JUDGED)
    ]

    assert not complaints, "\n".join(": ".join(complaint) for complaint in complaints)
