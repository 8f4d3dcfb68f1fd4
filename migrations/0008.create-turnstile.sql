-- Where starts of jobs of one kind pass one at a time, because only so many may run at once.
-- A row and not an advisory lock: whoever looks with a snapshot from before another's passage is told
-- so (40001), instead of counting what is not true any more; and no two kinds share a lock by chance.

create table cortex.turnstile (
    kind text primary key,
    passed bigint not null default 0
);

comment on table cortex.turnstile is
'One row for each kind that had a max_running when a job of it was to start. Private.';
comment on column cortex.turnstile.passed is
'How often jobs were started through it; moves so that snapshots from before are noticed.';
