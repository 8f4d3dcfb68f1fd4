-- End those of the given jobs whose runner is gone.
--
-- Called by   reap_orphans over all candidates, spawn_job over the one job in its way
-- Returns     how many it ended
-- Locks       the rows it ends, by id; rows that others have locked are left for the next time

create or replace function cortex.interrupt_abandoned(candidates bigint[])
returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_now constant pg_catalog.timestamptz := clock_timestamp();
    v_ended integer;
begin
    with abandoned as materialized (
        select
            j.id,
            r.uuid as runner,
            format('its runner %s (pid %s on %s) is gone; interrupted', r.name, r.pid, r.host) as reason
        from cortex.job as j
        join cortex.runners as r on r.uuid = j.runner
        where j.id = any(interrupt_abandoned.candidates)
            and j.status in ('queued', 'running')
            and not r.alive
    ),
    locked as (
        select
            j.id,
            abandoned.reason
        from cortex.job as j
        join abandoned on abandoned.id = j.id
        where j.status in ('queued', 'running')
            and j.runner = abandoned.runner
        order by j.id
        for update of j skip locked
    )
    update cortex.job as j
    set status = 'interrupted',
        message = cortex.clip(locked.reason),
        finished_at = greatest(v_now, j.started_at)
    from locked
    where j.id = locked.id;

    get diagnostics v_ended = row_count;
    return v_ended;
end;
$$;

comment on function cortex.interrupt_abandoned(bigint[]) is
'Ends those of the given jobs whose runner is gone.';
