"""
One typed function per routine of the database, with the same name and the same argument names.

Each takes a connection first and never opens, pools, commits or closes one: what it does is part of
the caller's transaction. None for an argument that has a default in SQL means that default.
"""

from pycortex.sql.builtin import (
    invalidate_all,
    invalidate_scope,
    populate_scope,
    report_populate_active,
    spawn_analyze,
    spawn_reindex,
    spawn_report_populate,
    spawn_report_refresh,
)
from pycortex.sql.corpus import open_corpus, open_service, put_tasks, report_slice
from pycortex.sql.producers import cancel_job, rerun_job, spawn_job, spawn_jobs
from pycortex.sql.readers import (
    configuration,
    count_recent_with_status,
    cron_entry,
    db_now,
    find_job,
    list_activity,
    list_events,
    list_kinds,
    list_recent,
    list_runners,
    list_waiting,
    metrics,
    schema_version,
    status_counts,
)
from pycortex.sql.upkeep import (
    configure,
    configure_kind,
    interrupt_orphans,
    maintain,
    purge_jobs,
    reap_stale,
    schedule_maintenance,
    unschedule_maintenance,
)
from pycortex.sql.workers import (
    attach_backend,
    claim_jobs,
    finish_job,
    keep_runner,
    register_runner,
    retire_runner,
    set_running,
    step,
)

__all__ = [
    "attach_backend",
    "cancel_job",
    "claim_jobs",
    "configuration",
    "configure",
    "configure_kind",
    "count_recent_with_status",
    "cron_entry",
    "db_now",
    "find_job",
    "finish_job",
    "interrupt_orphans",
    "invalidate_all",
    "invalidate_scope",
    "keep_runner",
    "list_activity",
    "list_events",
    "list_kinds",
    "list_recent",
    "list_runners",
    "list_waiting",
    "maintain",
    "metrics",
    "open_corpus",
    "open_service",
    "populate_scope",
    "purge_jobs",
    "put_tasks",
    "reap_stale",
    "register_runner",
    "report_populate_active",
    "report_slice",
    "rerun_job",
    "retire_runner",
    "schedule_maintenance",
    "schema_version",
    "set_running",
    "spawn_analyze",
    "spawn_job",
    "spawn_jobs",
    "spawn_reindex",
    "spawn_report_populate",
    "spawn_report_refresh",
    "status_counts",
    "step",
    "unschedule_maintenance",
]
