-- Ask for the indexes of tables to be rebuilt online, table by table; one such job at a time.
--
-- Only asks: REINDEX CONCURRENTLY can't run inside a function, a procedure or any transaction, so
-- that a runner (pycortex worker) has to do it. Where none lives that takes the kind, a notice says so.
--
-- Called by   anybody who wants it done; part of the caller's transaction
-- Returns     the job's uuid, and whether it was created now; false: a reindex is queued or running
-- Raises      22004 a name is null, 22023 no names, an ambiguous one or a limit out of range, 42P01 no such
--             table, 42809 not a table, 0A000 no names given and schema corpus not installed

create or replace function cortex.spawn_reindex(
    actor text default '',
    tables text[] default null,
    lock_timeout interval default null,
    statement_timeout interval default null
)
returns table (uuid uuid, created boolean)
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_tables constant pg_catalog.text[] :=
        cortex.resolve_tables(tables => spawn_reindex.tables, catalogs => false);
begin
    select
        s.uuid,
        s.created
    into spawn_reindex.uuid, spawn_reindex.created
    from cortex.spawn_job(
        kind => 'reindex',
        actor => spawn_reindex.actor,
        params => jsonb_build_object('tables', v_tables)
            || cortex.maintenance_limits(
                lock_timeout => spawn_reindex.lock_timeout,
                statement_timeout => spawn_reindex.statement_timeout
            ),
        debounce_scope => '{}'
    ) as s;

    if spawn_reindex.created
        and not exists (
            select
            from cortex.runners as r
            where r.retired_at is null
                and 'reindex' = any(r.kinds)
                and r.alive
        )
    then
        raise notice 'reindex % waits for a runner, and none takes the kind now', spawn_reindex.uuid
            using hint = 'Start pycortex worker; cortex.work and pg_cron can''t run REINDEX CONCURRENTLY.';
    end if;
    return next;
end;
$$;

comment on function cortex.spawn_reindex(text, text[], interval, interval) is
'Queues an online rebuild of the indexes of the named tables, or of the usual ones, for a runner: it can''t be '
'done inside a function, a procedure or a transaction. Limits of each wait for a lock (60 s if left out) and of '
'each statement (none if left out), 0 for none.';
