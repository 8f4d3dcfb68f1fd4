"""One of every call, for tests that ask whether all of them work under some condition."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from tests.sql.asking import refused, value

VIEWS = [
    "configuration",
    "job_activity",
    "job_events",
    "jobs",
    "kinds",
    "runners",
    "sql_kinds",
    "upkeep_record",
    "waiting",
]


def live(conn: psycopg.Connection[Any], kind: str = "life", text: str = "") -> None:
    """
    Call every routine with arguments that make sense, and hold it to its answer.

    *kind* and *text* stand wherever a caller may put words of its own.
    """
    words = {"kind": kind, "text": text, "name": f"w{text}", "json": Jsonb({text: text})}

    def ask(call: str, **more: Any) -> Any:
        return value(conn, f"select {call}", words | more)

    runner = ask("cortex.register_runner(%(name)s, %(text)s, 1)")
    _live_through_a_job_of_a_runner(ask, runner)
    _live_through_a_debounced_job(ask, runner)
    _live_through_a_change_of_mind(ask)

    assert ask("pg_typeof(cortex.db_now())::text") == "timestamp with time zone"
    assert ask("count(*) from cortex.list_recent()") == 5
    assert ask("count(*) from cortex.list_recent(active_only => true, max_rows => 9)") == 2
    assert ask("count(*) from cortex.list_jobs(kinds => array[%(kind)s])") == 5
    assert ask("queued from cortex.overview(%(kind)s)") == 2
    assert ask("cortex.count_recent_with_status('succeeded', 1)") == 2
    assert ask("sum(jobs)::int from cortex.status_counts(1)") == 5
    assert "cortex_jobs_active" in ask("cortex.metrics()")
    assert ask("cortex.reap_stale(older_than => '1 hour')") == 0
    assert ask("cortex.configure(stale_after => '3 hours')") == ""
    assert ask("cortex.configure_kind(%(kind)s, keep => '1 day')") == ""
    assert ask("ran from cortex.maintain()") is True
    assert ask("cortex.interrupt_orphans(runner => %(runner)s)", runner=runner) == 0
    assert ask("cortex.interrupt_orphans()") == 2
    assert ask("count(*) from cortex.purge_plan(older_than => '1 hour')") == 0
    assert ask("cortex.purge_jobs(older_than => '1 hour', batch_size => 10)") == 0
    for call in (
        "cortex.schedule_maintenance()",
        "cortex.unschedule_maintenance()",
        "cortex.schedule_work()",
        "cortex.unschedule_work()",
        "cortex.schedule_job(%(name)s, '0 3 * * *', %(kind)s, %(json)s, %(text)s, %(json)s)",
    ):
        with refused(conn, "0A000"):
            ask(call)
    assert ask("cortex.unschedule_job(%(name)s)") is False
    assert ask("count(*) from cortex.list_schedules()") == 0
    with refused(conn, "22023"):
        ask("uuid from cortex.spawn_scheduled(%(name)s)")
    assert ask("cortex.register_sql_kind(%(kind)s, 'cortex.run_refresh_reports(uuid)')") == ""
    with refused(conn, "2D000"):  # in a transaction, as here; see test_work
        conn.execute("call cortex.work()")
    assert ask("cortex.cron_entry()")
    assert ask("cortex.schema_version()")
    for view in VIEWS:
        assert ask(f"count(*) from cortex.{view}") >= (view not in {"job_activity", "waiting"})
    _live_through_reports(ask)
    assert ask("cortex.retire_runner(%(runner)s, message => %(text)s)", runner=runner) == 0


def _live_through_a_job_of_a_runner(ask: Any, runner: Any) -> None:
    job = ask(
        "uuid from cortex.spawn_job(%(kind)s, actor => %(text)s, params => %(json)s,"
        " runner => %(runner)s)",
        runner=runner,
    )
    assert ask("cortex.set_running(%(job)s, %(runner)s)", job=job, runner=runner) is True
    assert ask("cortex.attach_backend(%(job)s)", job=job) == ""
    assert ask("cortex.begin_body(%(job)s, 1)", job=job) is True
    assert ask("cortex.step(%(job)s, 1, 9, %(text)s, 1)", job=job) == "continue"
    several = (
        "verdict from cortex.step_jobs("
        "array[%(job)s]::uuid[], '{2}', '{9}', array[%(text)s], '{1}')"
    )
    assert ask(several, job=job) == "continue"
    assert ask("count(*) from cortex.keep_runner(%(runner)s)", runner=runner) == 0
    finish = "cortex.finish_job(%(job)s, 'succeeded', %(text)s, %(json)s, 1)"
    assert ask(finish, job=job) is True
    assert ask(finish, job=job) is True
    assert ask("cortex.step(%(job)s, 2)", job=job) == "stop"
    assert ask("cortex.note_end(%(job)s, %(text)s, 1)", job=job) is False
    assert ask("health from cortex.find_job(%(job)s)", job=job) == "ok"


def _live_through_a_debounced_job(ask: Any, runner: Any) -> None:
    spawn = "cortex.spawn_job(%(kind)s, debounce_scope => %(json)s, debounce_on => %(mode)s)"
    job = ask(f"uuid from {spawn}", mode="active")
    assert ask(f"created from {spawn}", mode="active") is False
    claim = "uuid from cortex.claim_jobs(%(runner)s, array[%(kind)s])"
    assert ask(claim, runner=runner) == job
    assert ask(f"created from {spawn}", mode="active") is False
    assert ask(f"created from {spawn}", mode="queued") is True
    assert ask(f"created from {spawn}", mode="queued") is False
    assert ask(claim, runner=runner) is None
    assert ask("cortex.finish_job(%(job)s, 'succeeded')", job=job) is True


def _live_through_a_change_of_mind(ask: Any) -> None:
    job = ask("cortex.spawn_jobs(%(kind)s, array[%(json)s::jsonb], actor => %(text)s)")
    assert ask("cortex.cancel_job(%(job)s, actor => %(text)s)", job=job) == "cancelled"
    assert ask("created from cortex.rerun_job(%(job)s, actor => %(text)s)", job=job) is True


def _live_through_reports(ask: Any) -> None:
    corpus = ask("corpus.open_corpus(%(name)s)")
    here = {"corpus": corpus, "service": ask("corpus.open_service(%(name)s)")}
    put = "task_id from corpus.put_tasks(%(corpus)s, %(service)s, array[%(name)s], array[-3])"
    assert ask(put, **here) is not None
    spawn = "created from cortex.spawn_report_populate(%(corpus)s, %(service)s, 'error', %(text)s)"
    assert ask(spawn, **here) is True
    active = "cortex.report_populate_active(%(corpus)s, %(service)s, 'error')"
    assert ask(active, **here) is True
    assert ask("corpus.populate_scope(%(corpus)s, %(service)s, 'error')", **here) == 1
    counted = "message_count from corpus.report_slice(%(corpus)s, %(service)s, 'error')"
    assert ask(counted, **here) == 0
    assert ask("corpus.invalidate_scope(%(corpus)s, %(service)s)", **here) == 1
    assert ask("corpus.invalidate_all()") == 0
    assert ask("created from cortex.spawn_report_refresh(%(text)s)") is True
    assert ask("created from cortex.spawn_reindex(%(text)s)") is True
    assert ask("count(*) from cortex.maintenance_plan('reindex', array['corpus.tasks'])") == 1
    tables = "array['corpus.tasks', 'pg_catalog.pg_class']"
    assert ask(f"created from cortex.spawn_analyze(%(text)s, {tables})") is True
