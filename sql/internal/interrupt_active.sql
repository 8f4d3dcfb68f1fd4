-- End active jobs without asking how they are.
--
-- Called by   interrupt_orphans (all, or one runner's), retire_runner (one runner's)
-- Returns     how many it ended

create or replace function cortex.interrupt_active(runner uuid, message text)
returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_ids bigint[];
    v_as_seen pg_catalog.timestamptz[];
begin
    if interrupt_active.runner is null then
        select array_agg(j.id order by j.id), array_agg(j.updated_at order by j.id)
        into v_ids, v_as_seen
        from cortex.job as j
        where j.status in ('queued', 'running');
    else
        select array_agg(j.id order by j.id), array_agg(j.updated_at order by j.id)
        into v_ids, v_as_seen
        from cortex.job as j
        where j.status in ('queued', 'running')
            and j.runner = interrupt_active.runner;
    end if;

    if v_ids is null then
        return 0;
    end if;
    return cortex.interrupt_jobs(
        ids => v_ids,
        reasons => array_fill(interrupt_active.message, array[cardinality(v_ids)]),
        as_seen => v_as_seen
    );
end;
$$;

comment on function cortex.interrupt_active(uuid, text) is
'Interrupts all active jobs, or those of one runner.';
