-- What happened to a job, one row per change of state; written by a trigger, so that no routine
-- can forget it.

create table cortex.event (
    id bigint generated always as identity primary key,
    job_id bigint not null,
    at timestamptz not null default clock_timestamp(),
    from_status cortex.job_status,
    to_status cortex.job_status not null,
    attempt integer not null,
    runner uuid,
    actor text not null default '',
    role text not null default session_user,
    message text not null default '',
    constraint event_job_fkey foreign key (job_id) references cortex.job (id) on delete cascade
);

comment on table cortex.event is
'One row per change of state of a job. Private: callers use the view cortex.job_events.';
comment on column cortex.event.from_status is
'Null: the job was spawned.';
comment on column cortex.event.actor is
'Who asked, as the caller named them.';
comment on column cortex.event.role is
'The role that was logged in.';

create index event_job_idx on cortex.event (job_id, id);

comment on index cortex.event_job_idx is
'job_events: the history of one job; and the cascade of purge_jobs.';

create index event_interrupted_idx on cortex.event (runner, at)
where to_status = 'interrupted';

comment on index cortex.event_interrupted_idx is
'keep_runner: which attempts of a runner were ended without its doing.';
