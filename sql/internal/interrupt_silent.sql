-- End those of the given jobs whose body has been silent for too long.
--
-- Called by   reap_stale over all candidates, spawn_job over the jobs in its way
-- Returns     how many it ended

create or replace function cortex.interrupt_silent(candidates bigint[], older_than interval)
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
        array_agg(
            format('no progress for over %s; presumed stalled', cortex.in_words(z.stale_after))
        ),
        array_agg(z.updated_at)
    into v_ids, v_reasons, v_as_seen
    from cortex.silent_jobs(
        candidates => interrupt_silent.candidates, older_than => interrupt_silent.older_than
    ) as z;

    return cortex.interrupt_jobs(ids => v_ids, reasons => v_reasons, as_seen => v_as_seen);
end;
$$;

comment on function cortex.interrupt_silent(bigint[], interval) is
'Ends those of the given jobs that have been silent for too long.';
