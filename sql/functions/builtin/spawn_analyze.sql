-- Ask for fresh planner statistics, table by table; one such job at a time.
--
-- Called by   anybody who wants it done; part of the caller's transaction
-- Returns     the job's uuid, and whether it was created now; false: an analyze is queued or running
-- Raises      22004 a name is null, 22023 no names, an ambiguous one or a limit out of range, 42P01 no such
--             table, 42809 not a table, 0A000 no names given and schema corpus not installed

create or replace function cortex.spawn_analyze(
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
        cortex.resolve_tables(tables => spawn_analyze.tables, catalogs => true);
begin
    return query
    select
        s.uuid,
        s.created
    from cortex.spawn_job(
        kind => 'analyze',
        actor => spawn_analyze.actor,
        params => jsonb_build_object('tables', v_tables)
            || cortex.maintenance_limits(
                lock_timeout => spawn_analyze.lock_timeout,
                statement_timeout => spawn_analyze.statement_timeout
            ),
        debounce_scope => '{}'
    ) as s;
end;
$$;

comment on function cortex.spawn_analyze(text, text[], interval, interval) is
'Queues an ANALYZE of the named tables, or of the usual ones; limits of '
'each wait for a lock (60 s if left out) and of each statement (none if left out), 0 for none.';
