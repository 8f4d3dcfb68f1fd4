-- Who runs jobs, and who of them lives. The one definition of a dead runner.
--
-- A runner lives while it beats; and while it is silent, as long as its session holds its lease. Where the
-- server itself was away, which ended that session, its silence counts from the server's start: otherwise
-- whoever is back first would take all the others for dead.

create or replace view cortex.runners as
select
    r.uuid,
    r.name,
    r.host,
    r.pid,
    r.registered_at,
    r.seen_at,
    r.retired_at,
    r.retired_at is null
    and (
        cortex.clock() - case
            when r.backend_pid is not null and r.registered_at < pg_postmaster_start_time()
                then greatest(r.seen_at, pg_postmaster_start_time())
            else r.seen_at
        end <= (select s.runner_grace from cortex.settings as s)
        or exists (
            select
            from pg_catalog.pg_locks as l
            where l.locktype = 'advisory'
                and l.database = (
                    select d.oid from pg_catalog.pg_database as d
                    where d.datname = current_database()
                )
                and l.classid = cortex.lock_space()::oid
                and l.objid = r.lease::oid
                and l.objsubid = 2
                and l.granted
                and l.pid = r.backend_pid
        )
    ) as alive,
    r.kinds
from cortex.runner as r;

comment on view cortex.runners is
'Processes that run or ran job bodies.';
comment on column cortex.runners.alive is
'False once it retired, or its lease is free and its last beat, and the server''s start, older than the grace.';
