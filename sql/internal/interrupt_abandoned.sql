-- End those of the given jobs whose runner is gone.
--
-- Called by   reap_orphans over all candidates, spawn_job over the jobs in its way
-- Returns     how many it ended

create or replace function cortex.interrupt_abandoned(candidates bigint[])
returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_ids bigint[];
    v_reasons pg_catalog.text[];
    v_as_seen pg_catalog.timestamptz[];
begin
    select
        array_agg(z.id),
        array_agg(z.reason),
        array_agg(z.updated_at)
    into v_ids, v_reasons, v_as_seen
    from cortex.abandoned_jobs(candidates => interrupt_abandoned.candidates) as z;

    return cortex.interrupt_jobs(ids => v_ids, reasons => v_reasons, as_seen => v_as_seen);
end;
$$;

comment on function cortex.interrupt_abandoned(bigint[]) is
'Ends those of the given jobs whose runner is gone.';
