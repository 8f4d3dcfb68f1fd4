-- One row is one runner: a process that runs job bodies.
-- Nothing that a beat writes is indexed, so that beats stay heap-only updates.

create table cortex.runner (
    uuid uuid primary key default gen_random_uuid(),
    lease integer not null generated always as identity,
    name text not null,
    host text not null,
    pid integer not null,
    backend_pid integer,
    registered_at timestamptz not null default clock_timestamp(),
    seen_at timestamptz not null default clock_timestamp(),
    retired_at timestamptz,
    constraint runner_name_is_1_to_200_characters check (length(name) between 1 and 200),
    constraint runner_host_is_at_most_255_characters check (length(host) <= 255)
);

comment on table cortex.runner is
'Processes that run job bodies. A row outlives its process, so that the jobs of a dead one are found.';
comment on column cortex.runner.lease is
'Second key of the session-level advisory lock that the process holds; the first is cortex.lock_space().';
comment on column cortex.runner.backend_pid is
'The session that holds the lease; null where a pooler made it meaningless and only seen_at counts.';
comment on column cortex.runner.seen_at is
'The last beat.';
comment on column cortex.runner.retired_at is
'When the process said goodbye itself; null while it lives or after it died.';
