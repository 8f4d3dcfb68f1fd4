-- End those of the given jobs whose body has been silent for too long. The one definition of stale.
--
-- Called by   reap_stale over all candidates, spawn_job over the one job in its way
-- Returns     how many it ended
-- Locks       the rows it ends, by id; rows that others have locked are left for the next time

create or replace function cortex.interrupt_silent(candidates bigint[], older_than interval)
returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_now constant pg_catalog.timestamptz := clock_timestamp();
    v_ended integer;
begin
    with silent as materialized (
        select
            j.id,
            j.updated_at,
            p.stale_after
        from cortex.job as j
        left join cortex.kind as k on k.name = j.kind
        cross join cortex.settings as s
        cross join lateral (
            select coalesce(
                interrupt_silent.older_than, k.stale_after, s.stale_after
            ) as stale_after
        ) as p
        where j.id = any(interrupt_silent.candidates)
            and (
                (j.status = 'running' and j.updated_at < v_now - p.stale_after)
                or (
                    -- Waiting is not silence, unless the one to start it is gone.
                    j.status = 'queued'
                    and greatest(j.updated_at, j.run_at) < v_now - p.stale_after
                    and exists (
                        select from cortex.runners as r where r.uuid = j.runner and not r.alive
                    )
                )
            )
    ),
    locked as (
        select
            j.id,
            silent.stale_after
        from cortex.job as j
        join silent on silent.id = j.id
        where j.status in ('queued', 'running')
            and j.updated_at = silent.updated_at
        order by j.id
        for update of j skip locked
    )
    update cortex.job as j
    set status = 'interrupted',
        message = format(
            'no progress for over %s; presumed stalled', cortex.in_words(locked.stale_after)
        ),
        finished_at = greatest(v_now, j.started_at)
    from locked
    where j.id = locked.id;

    get diagnostics v_ended = row_count;
    return v_ended;
end;
$$;

comment on function cortex.interrupt_silent(bigint[], interval) is
'Ends those of the given jobs that have been silent for too long.';
