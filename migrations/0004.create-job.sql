-- One row is one job. The rules of DESIGN's life of a job are constraints here, so that no
-- routine, now or later, can break them.

create table cortex.job (
    id bigint generated always as identity primary key,
    uuid uuid not null default gen_random_uuid(),
    kind text not null,
    status cortex.job_status not null default 'queued',
    progress_current bigint not null default 0,
    progress_total bigint,
    message text not null default '',
    actor text not null default '',
    params cortex.json_object not null default '{}',
    result jsonb,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    started_at timestamptz,
    finished_at timestamptz,
    attempt integer not null default 0,
    priority integer not null default 0,
    run_at timestamptz not null default clock_timestamp(),
    debounce_scope cortex.json_object,
    debounce_on cortex.debounce_mode not null default 'active',
    runner uuid,
    pinned boolean not null default false,
    cancel_requested_at timestamptz,
    cancel_requested_by text not null default '',
    cancel_hard_at timestamptz,
    backend_pid integer,
    backend_start timestamptz,
    constraint job_uuid_key unique (uuid),
    constraint job_runner_fkey foreign key (runner) references cortex.runner (uuid),
    constraint job_kind_is_1_to_200_characters check (length(kind) between 1 and 200),
    constraint job_actor_is_at_most_200_characters check (length(actor) <= 200),
    constraint job_message_is_at_most_4000_characters check (length(message) <= 4000),
    constraint job_attempt_is_not_negative check (attempt >= 0),
    constraint job_pinned_implies_runner check (not pinned or runner is not null),
    constraint job_hard_cancel_implies_cancel check (
        cancel_hard_at is null or cancel_requested_at is not null
    ),
    constraint job_backend_has_pid_and_start check (
        (backend_pid is null) = (backend_start is null)
    ),
    constraint job_running_implies_started check (
        status <> 'running' or started_at is not null
    ),
    constraint job_outcome_of_a_body_implies_started check (
        status not in ('succeeded', 'failed') or started_at is not null
    ),
    constraint job_terminal_exactly_when_finished check (
        (status in ('queued', 'running')) = (finished_at is null)
    ),
    constraint job_finished_not_before_started check (finished_at >= started_at)
);

comment on table cortex.job is
'One row is one job. Private: callers use the routines and the view cortex.jobs.';
comment on column cortex.job.id is
'Order of arrival, and tie-break of every listing; uuid is the name for the outside.';
comment on column cortex.job.message is
'What the job is doing, or how it ended.';
comment on column cortex.job.result is
'What the body returned. SQL null: nothing recorded; JSON null: the body returned nothing.';
comment on column cortex.job.updated_at is
'Last sign of life: its spawn, start, last step, finish or return to the queue.';
comment on column cortex.job.attempt is
'How often the job was started; the fence that keeps a lost attempt from stepping or finishing.';
comment on column cortex.job.run_at is
'Not to be claimed before.';
comment on column cortex.job.debounce_scope is
'Null: not debounced. An object: the scope within which its kind is debounced; jsonb equality.';
comment on column cortex.job.runner is
'Whose job it is: set at spawn (no worker claims it) or by the claim.';
comment on column cortex.job.pinned is
'Spawned for its runner: only that process has the body, so no other may try again.';
comment on column cortex.job.cancel_hard_at is
'When somebody asked to end the statement of the attached session too, and after the grace the session.';
comment on column cortex.job.backend_pid is
'The session that runs the job''s SQL, with backend_start so that a re-used pid is not taken for it.';
comment on constraint job_terminal_exactly_when_finished on cortex.job is
'A job that is over says when; one that says when is over.';

-- Debounce. A queued job that tolerates no running one beside it (mode active) stands in both
-- indexes, a queued follow-up only in the first, a running job only in the second. So in one
-- scope never two wait, never two run, and a job of mode active waits only where none runs.

create unique index job_debounce_queued_key on cortex.job (kind, debounce_scope)
where debounce_scope is not null and status = 'queued';

comment on index cortex.job_debounce_queued_key is
'spawn_job: at most one job of a kind and scope waits.';

create unique index job_debounce_running_key on cortex.job (kind, debounce_scope)
where debounce_scope is not null
and (status = 'running' or (status = 'queued' and debounce_on = 'active'));

comment on index cortex.job_debounce_running_key is
'spawn_job, claim_jobs, retry_jobs: at most one job of a kind and scope runs, and none of mode active waits beside it.';

create index job_claim_idx on cortex.job (priority desc, run_at, id)
where status = 'queued' and runner is null;

comment on index cortex.job_claim_idx is
'claim_jobs, metrics: what anybody may take, in the order it is taken.';

create index job_active_idx on cortex.job (created_at desc, id desc)
where status in ('queued', 'running');

comment on index cortex.job_active_idx is
'list_recent(active_only), reap_stale, reap_overdue: the few jobs that are not over.';

create index job_runner_idx on cortex.job (runner)
where status in ('queued', 'running') and runner is not null;

comment on index cortex.job_runner_idx is
'keep_runner, retire_runner, interrupt_orphans: the active jobs of one runner.';

create index job_created_idx on cortex.job (created_at desc, id desc);

comment on index cortex.job_created_idx is
'list_recent: newest first.';

create index job_status_created_idx on cortex.job (status, created_at);

comment on index cortex.job_status_created_idx is
'count_recent_with_status, status_counts, metrics, free_slots: a window of one status, and what is active.';

create index job_finished_idx on cortex.job (finished_at, id)
where finished_at is not null;

comment on index cortex.job_finished_idx is
'status_counts, metrics, purge_jobs: what ended in a window, oldest first.';

create index job_attached_idx on cortex.job (id)
where backend_pid is not null;

comment on index cortex.job_attached_idx is
'end_backends: the few jobs with a session attached.';
