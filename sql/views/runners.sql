-- Who runs jobs, and who of them lives. The one definition of a dead runner.
--
-- A runner lives while it beats; and while it is silent, as long as its session holds its lease.

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
        cortex.clock() - r.seen_at <= (select s.runner_grace from cortex.settings as s)
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
'False once it retired, or its lease is free and its last beat older than the grace.';
