"""
The plans of the hot statements.

An index's comment names the routines that it serves; here they are called on a table of some size,
and the index must have been scanned, and the table not from end to end. The server counts both.
"""

import re
from pathlib import Path

import psycopg
import pytest

from tests.conftest import fresh_name
from tests.sql.asking import rows, value

ROOT = Path(__file__).parents[2]
COMMENT = re.compile(r"comment on index cortex\.(\w+) is\s*'(.*?)';", re.DOTALL)
NAMES = {file.stem for file in ROOT.glob("sql/**/*.sql")} - {"jobs", "runners", "kinds"}

FILL = """
insert into cortex.runner (name, host, pid, seen_at)
select 'r' || g, 'h', g, clock_timestamp() - (g % 2) * interval '1 day'
from generate_series(1, 20) as g;

-- What is over: most of the table.
insert into cortex.job (
    kind, status, debounce_scope, created_at, run_at, updated_at, started_at, finished_at, attempt
)
select
    'kind ' || g % 20, 'succeeded', jsonb_build_object('n', g), at, at, at, at, at, 1
from generate_series(1, 20000) as g
cross join lateral (select clock_timestamp() - g * interval '1 minute' as at) as t;

-- What waits for anybody, what waits and runs in scopes, and what belongs to runners.
insert into cortex.job (kind, debounce_scope, debounce_on)
select 'kind ' || g % 20, case when g % 2 = 0 then jsonb_build_object('q', g) end, 'queued'
from generate_series(1, 400) as g;

-- Three of them have been silent for a while.
insert into cortex.job (kind, status, started_at, updated_at, attempt, debounce_scope, runner)
select
    'kind ' || g % 20, 'running', at, at, 1, jsonb_build_object('r', g),
    (select r.uuid from cortex.runner as r where r.pid = 1 + g % 20)
from generate_series(1, 100) as g
cross join lateral (
    select clock_timestamp() - case when g <= 3 then interval '90 minutes' else '0' end as at
) as t;

-- What failed, of a kind that is tried again and has limits.
select cortex.configure_kind(
    'kind 3', max_attempts => 100, max_running => 90,
    run_timeout => '1 day', queue_timeout => '1 day'
);

insert into cortex.job (kind, status, started_at, finished_at, attempt, debounce_scope)
select 'kind 3', 'failed', clock_timestamp(), clock_timestamp(), 1, jsonb_build_object('f', g)
from generate_series(1, 100) as g;
"""

RUNNER = "(select uuid from cortex.runner where name = 'r2')"
RUNNING = "(select uuid from cortex.job where status = 'running' order by id limit 1)"
WAITING = (
    "(select uuid from cortex.job where status = 'queued' and debounce_scope is not null"
    " order by id limit 1)"
)
OVER = "(select uuid from cortex.job where status = 'succeeded' order by id limit 1)"
FAILED = "(select uuid from cortex.job where status = 'failed' order by id limit 1)"
SOURCES = [RUNNER, RUNNING, WAITING, OVER, FAILED]
CALLS = {
    "spawn_job": [
        "cortex.spawn_job('kind 2', debounce_scope => '{\"q\": 2}')",
        "cortex.spawn_job('kind 2', debounce_scope => '{\"r\": 2}')",
        "cortex.spawn_job('kind 2', debounce_scope => '{\"r\": 2}', debounce_on => 'queued')",
        "cortex.spawn_job('kind 2', debounce_scope => '{\"new\": 2}')",
    ],
    "claim_jobs": [f"cortex.claim_jobs({RUNNER}, '{{kind 2,kind 3}}', 3)"],
    "set_running": [
        f"cortex.set_running({RUNNING}, {RUNNER})",
        f"cortex.set_running({WAITING})",
    ],
    "step": [f"cortex.step({RUNNING}, 1)"],
    "step_jobs": [f"cortex.step_jobs(array[{RUNNING}]::uuid[], '{{1}}')"],
    "finish_job": [f"cortex.finish_job({RUNNING}, 'succeeded')"],
    "find_job": [f"cortex.find_job({RUNNING})"],
    "keep_runner": [f"cortex.keep_runner({RUNNER})"],
    "retire_runner": [f"cortex.retire_runner({RUNNER})"],
    "interrupt_orphans": [f"cortex.interrupt_orphans({RUNNER})", "cortex.interrupt_orphans()"],
    "list_recent": [
        "cortex.list_recent(active_only => true)",
        "cortex.list_recent(active_only => false)",
    ],
    "list_jobs": [
        "cortex.list_jobs()",
        "cortex.list_jobs(array['kind 2', 'no such kind'])",
        "cortex.list_jobs(array['kind 2'], '{failed,running}')",
        "cortex.list_jobs(statuses => '{queued,failed}')",
        "cortex.list_jobs(since => now() - interval '1 hour')",
        f"cortex.list_jobs(after_created_at => now(), after_uuid => {OVER})",
    ],
    "purge_plan": ["cortex.purge_plan('13 days')"],
    "reap_stale": ["cortex.reap_stale('1 hour')", "cortex.reap_stale()"],
    "status_counts": ["cortex.status_counts(1)"],
    "count_recent_with_status": ["cortex.count_recent_with_status('running', 9999)"],
    "purge_jobs": ["cortex.purge_jobs('13 days', 100)"],
    "maintain": ["cortex.maintain()"],
    "purge_expired": ["cortex.purge_expired(100)"],
    "purge_runners": ["cortex.purge_runners(500)"],
    "end_backends": ["cortex.end_backends()"],
    "job_events": [f"count(*) from cortex.job_events where job = {RUNNING}"],
    "cancel_job": [f"cortex.cancel_job({RUNNING})", f"cortex.cancel_job({WAITING})"],
    "spawn_jobs": ["cortex.spawn_jobs('kind 2', array['{}', '{}']::jsonb[])"],
    "rerun_job": [f"cortex.rerun_job({OVER})"],
    "attach_backend": [f"cortex.attach_backend({RUNNING})"],
    "metrics": ["cortex.metrics()"],
    "free_slots": ["cortex.free_slots('kind 3')"],
    "reap_overdue": ["cortex.reap_overdue()"],
    "retry_jobs": [f"cortex.retry_jobs(array(select id from cortex.job where uuid = {FAILED}))"],
}
BY_UUID = [
    "step", "step_jobs", "finish_job", "find_job", "set_running", "cancel_job", "rerun_job",
    "attach_backend",
]  # fmt: skip


def comments() -> dict[str, str]:
    """What the migrations say last of every index that is still there."""
    found: dict[str, str] = {}
    for file in sorted(ROOT.glob("migrations/*.sql")):
        text = file.read_text(encoding="utf-8")
        for dropped in re.findall(r"drop index cortex\.(\w+);", text):
            del found[dropped]
        found |= dict(COMMENT.findall(text))
    return found


PAIRS = [
    (index, name)
    for index, comment in comments().items()
    for name in re.findall(r"\w+", comment)
    if name in NAMES
] + [("job_uuid_key", name) for name in BY_UUID]


@pytest.fixture(scope="module")
def filled(server, template):
    """The URL of a database with 20,000 jobs that are over and 500 that are not."""
    name = fresh_name("plans")
    url = server.create(name, template)
    with psycopg.connect(url) as conn:
        conn.execute("alter table cortex.job disable trigger user")
        conn.execute(FILL)
        conn.execute("alter table cortex.job enable trigger user")
        conn.execute(
            "insert into cortex.event (job_id, to_status, attempt, runner)"
            " select id, status, attempt, runner from cortex.job"
        )
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("vacuum analyze")
    yield url
    server.drop(name)


@pytest.fixture
def conn(filled):
    with psycopg.connect(filled) as conn:
        yield conn
        conn.rollback()


def scans_of(conn, relation):
    """How often this transaction began to scan an index, or a table from end to end."""
    scans = "select pg_stat_get_xact_numscans(%s::regclass)"
    return value(conn, scans, [f"cortex.{relation}"])


def call_all_of(conn, name):
    """
    Make the calls, with their arguments looked up before.

    More often than the five times after which a session may keep a plan for all arguments.
    """
    calls = CALLS[name]
    for source in SOURCES:
        uuid = value(conn, f"select {source}::text")
        calls = [call.replace(source, f"'{uuid}'") for call in calls]
    before = {table: scans_of(conn, table) for table in ("job", "event")}
    for _ in range(7):
        for call in calls:
            conn.execute(f"select {call}")
    return before


@pytest.mark.parametrize("index", sorted({index for index, _ in PAIRS}))
def test_use_the_index_that_says_so(conn, index):
    """At least one of them: where two indexes do as well, statistics toss the coin."""
    for name in (name for its_index, name in PAIRS if its_index == index):
        call_all_of(conn, name)

    assert scans_of(conn, index) > 0


@pytest.mark.parametrize("name", CALLS)
def test_read_no_table_of_jobs_or_events_from_end_to_end(conn, name):
    before = call_all_of(conn, name)

    assert {table: scans_of(conn, table) for table in before} == before


def test_are_there_for_every_index_that_is_not_a_key(conn):
    """An index that nobody needs costs every write."""
    indexes = {
        row["name"]
        for row in rows(
            conn,
            "select indexrelid::regclass::text as name from pg_index"
            " where indrelid in ('cortex.job'::regclass, 'cortex.event'::regclass)"
            " and not indisprimary",
        )
    }

    assert {f"cortex.{index}" for index, _ in PAIRS} == indexes


def test_index_nothing_that_a_heartbeat_writes(conn):
    """So that heartbeats stay heap-only updates."""
    indexed = {
        (row["table"], row["column"])
        for row in rows(
            conn,
            """
            select i.indrelid::regclass::text as table, a.attname as column
            from pg_index as i
            join pg_attribute as a on a.attrelid = i.indrelid
            where i.indrelid in ('cortex.job'::regclass, 'cortex.runner'::regclass)
                and (
                    a.attnum = any(i.indkey)
                    or pg_get_expr(i.indpred, i.indrelid) ~ ('\\m' || a.attname || '\\M')
                )
            """,
        )
    }

    beats = {"progress_current", "progress_total", "message", "updated_at"}
    assert indexed & {("cortex.job", column) for column in beats} == set()
    assert indexed & {("cortex.runner", column) for column in ("seen_at", "backend_pid")} == set()
    assert ("cortex.job", "status") in indexed


def test_the_end_of_many_waiting_jobs_looks_for_no_others(conn):
    """Nothing that waits is freed by the end of what waited; each look would pass all before it."""
    conn.execute("select cortex.configure_kind('limited', max_running => 2)")
    conn.execute("insert into cortex.job (kind) select 'limited' from generate_series(1, 1000)")
    read = "select pg_stat_get_xact_tuples_returned('cortex.job_ready_idx'::regclass)"
    before = value(conn, read)

    ended = value(conn, "select cortex.interrupt_orphans()")

    assert ended > 1000
    assert value(conn, read) - before < 50000


def test_a_claim_does_not_pass_what_waits_of_other_kinds(conn):
    """However much that is, and however urgent, and however the statistics are."""
    conn.execute("insert into cortex.job (kind) select 'behind' from generate_series(1, 100)")
    conn.execute(
        "insert into cortex.job (kind, priority) select 'before', 9 from generate_series(1, 5000)"
    )
    runner = value(conn, f"select {RUNNER}::text")
    read = "select pg_stat_get_xact_tuples_returned('cortex.job_ready_idx'::regclass)"
    before = value(conn, read)

    for kinds in (["behind"], ["another", "behind", "a third"]) * 7:
        found = rows(conn, "select kind from cortex.claim_jobs(%s, %s, 3)", [runner, kinds])
        assert [row["kind"] for row in found] == ["behind"] * 3

    assert value(conn, read) - before < 1000


def test_a_claim_reads_what_it_takes_of_a_burst(conn):
    """However much waits, where nothing did when the statistics were taken."""
    conn.execute("truncate cortex.job cascade")
    conn.execute(
        "insert into cortex.job (kind, status, started_at, finished_at)"
        " select 'burst', 'succeeded', now(), now() from generate_series(1, 5000)"
    )
    conn.execute("analyze cortex.job")
    conn.execute("insert into cortex.job (kind) select 'burst' from generate_series(1, 5000)")
    runner = value(conn, f"select {RUNNER}::text")
    read = "select pg_stat_get_xact_tuples_returned('cortex.job_ready_idx'::regclass)"
    before = value(conn, read)

    for _ in range(10):
        found = rows(conn, "select kind from cortex.claim_jobs(%s, %s, 3)", [runner, ["burst"]])
        assert [row["kind"] for row in found] == ["burst"] * 3

    assert value(conn, read) - before < 1000


def test_the_end_of_silent_jobs_passes_nothing_that_is_over(conn):
    """However much of it failed or was interrupted; each may be tried again, by its kind."""
    silent = (
        "insert into cortex.job (kind, status, started_at, updated_at, attempt)"
        " select 'silent', 'running', at, at, 1 from generate_series(1, 3)"
        " cross join lateral (select clock_timestamp() - interval '3 hours' as at) as t"
    )
    read = "select pg_stat_get_xact_tuples_returned('cortex.job_status_created_idx'::regclass)"
    counts = [value(conn, read)]

    for over in (0, 1000):
        conn.execute(
            "insert into cortex.job (kind, status, started_at, finished_at, attempt)"
            " select 'old', (array['failed', 'interrupted']::cortex.job_status[])[1 + g %% 2],"
            " now(), now(), 1 from generate_series(1, %s) as g",
            [over],
        )
        conn.execute("analyze cortex.job")
        for _ in range(7):
            conn.execute(silent)
            assert value(conn, "select cortex.reap_stale()") == 3
        counts.append(value(conn, read))

    few, many = counts[1] - counts[0], counts[2] - counts[1]
    assert many < few + 7 * 500
