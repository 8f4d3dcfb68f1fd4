-- End active jobs without asking how they are.
--
-- Called by   interrupt_orphans (all, or one runner's), retire_runner (one runner's)
-- Returns     how many it ended
-- Locks       the rows it ends, by id; rows that others have locked are somebody's who lives

create or replace function cortex.interrupt_active(runner uuid, message text)
returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_now constant pg_catalog.timestamptz := clock_timestamp();
    v_ended integer;
begin
    if interrupt_active.runner is null then
        update cortex.job as j
        set status = 'interrupted',
            message = cortex.clip(interrupt_active.message),
            finished_at = greatest(v_now, j.started_at)
        where j.id in (
            select o.id
            from cortex.job as o
            where o.status in ('queued', 'running')
            order by o.id
            for update skip locked
        );
    else
        update cortex.job as j
        set status = 'interrupted',
            message = cortex.clip(interrupt_active.message),
            finished_at = greatest(v_now, j.started_at)
        where j.id in (
            select o.id
            from cortex.job as o
            where o.status in ('queued', 'running')
                and o.runner = interrupt_active.runner
            order by o.id
            for update skip locked
        );
    end if;

    get diagnostics v_ended = row_count;
    return v_ended;
end;
$$;

comment on function cortex.interrupt_active(uuid, text) is
'Interrupts all active jobs, or those of one runner.';
