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
    -- Put into words once for all that share a limit; by its text, as a year equals 360 days.
    with silent as materialized (
        select
            z.id,
            z.updated_at,
            z.stale_after,
            z.stale_after::pg_catalog.text as span
        from cortex.silent_jobs(
            candidates => interrupt_silent.candidates, older_than => interrupt_silent.older_than
        ) as z
    ),
    said as materialized (
        select
            s.span,
            format(
                'no progress for over %s; presumed stalled',
                cortex.in_words((array_agg(s.stale_after))[1])
            ) as reason
        from silent as s
        group by s.span
    )
    select
        array_agg(silent.id),
        array_agg(said.reason),
        array_agg(silent.updated_at)
    into v_ids, v_reasons, v_as_seen
    from silent
    join said on said.span = silent.span;

    return cortex.interrupt_jobs(ids => v_ids, reasons => v_reasons, as_seen => v_as_seen);
end;
$$;

comment on function cortex.interrupt_silent(bigint[], interval) is
'Ends those of the given jobs that have been silent for too long.';
