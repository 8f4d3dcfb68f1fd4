-- Jobs of bodies in SQL that are over, and whose end nobody wrote: an error went through a procedure that
-- ends transactions itself, where it can't be caught, so that it ended the call of work as well.
--
-- Called by   settle_bodies
-- Returns     each job with its attempt, whether its end was asked for, its runner with its session's pid
--             and first moment, and whether that session is gone

create or replace function cortex.lost_bodies()
returns table (
    job uuid,
    attempt integer,
    cancelled boolean,
    runner uuid,
    pid integer,
    since timestamptz,
    gone boolean
)
language sql
stable
security definer
set search_path = ''
rows 1
as $$
    select
        j.uuid,
        j.attempt,
        j.cancel_requested_at is not null,
        r.uuid,
        r.pid,
        r.registered_at,
        held.pid is null
    from cortex.runner as r
    join cortex.job as j on j.runner = r.uuid
    left join pg_catalog.pg_locks as held
        on held.locktype = 'advisory'
            and held.database = (
                select d.oid from pg_catalog.pg_database as d where d.datname = current_database()
            )
            and held.classid = cortex.lock_space()::pg_catalog.oid
            and held.objid = r.lease::pg_catalog.oid
            and held.objsubid = 2
            and held.granted
            and held.pid = r.backend_pid
    left join pg_catalog.pg_stat_activity as a on a.pid = held.pid
    where r.name = 'cortex.work'
        and r.retired_at is null
        and (
            j.status = 'running'
            -- Upkeep was first; it could not know of the error.
            or (j.status = 'interrupted' and j.message like 'its runner cortex.work % is gone; interrupted')
        )
        and (held.pid is null or held.pid = pg_backend_pid() or a.state like 'idle%');
$$;

comment on function cortex.lost_bodies() is
'Jobs whose body in SQL is over, though nobody wrote its end.';
