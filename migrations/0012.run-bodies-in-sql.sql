-- Which kinds have a body inside the database, and which jobs come back on a schedule.

create table cortex.sql_kind (
    kind text primary key,
    schema_name text not null,
    routine_name text not null,
    run_as text,
    commits boolean,
    registered_at timestamptz not null default clock_timestamp(),
    registered_by text not null default session_user,
    constraint sql_kind_name_is_1_to_200_characters check (length(kind) between 1 and 200)
);

comment on table cortex.sql_kind is
'Kinds that cortex.work runs inside the database. Private: callers use the view cortex.sql_kinds.';
comment on column cortex.sql_kind.routine_name is
'By name, looked up at each run, so that it survives a restore and a replacement of the routine.';
comment on column cortex.sql_kind.run_as is
'The role that may run it, with its own rights; null for bodies that come with this schema, which any may.';
comment on column cortex.sql_kind.commits is
'Whether the procedure ends transactions itself; null: as its text looks.';

-- The kinds that come with a body here. Their reindex does not: it can't run inside a transaction.

insert into cortex.sql_kind (kind, schema_name, routine_name) values
('analyze', 'cortex', 'run_analyze'),
('populate_report', 'cortex', 'run_populate_report'),
('refresh_reports', 'cortex', 'run_refresh_reports');

create table cortex.schedule (
    name text primary key,
    line text not null,
    kind text not null,
    actor text not null,
    params cortex.json_object not null,
    debounce_scope cortex.json_object not null,
    debounce_on cortex.debounce_mode not null,
    priority integer not null,
    scheduled_at timestamptz not null default clock_timestamp(),
    scheduled_by text not null default session_user,
    last_job uuid,
    last_spawned_at timestamptz,
    constraint schedule_name_is_1_to_200_characters check (length(name) between 1 and 200),
    constraint schedule_kind_is_1_to_200_characters check (length(kind) between 1 and 200)
);

comment on table cortex.schedule is
'Jobs that come back: what to spawn, and when. Private: callers use cortex.list_schedules().';
comment on column cortex.schedule.line is
'When, as pg_cron reads it.';
comment on column cortex.schedule.last_job is
'What the last run spawned, or found in its place; it may have been purged since.';
