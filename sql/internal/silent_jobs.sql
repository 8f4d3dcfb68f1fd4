-- Which of the given jobs have been silent for too long. The one definition of stale.
--
-- In plpgsql, and planned once per session: a function in SQL is planned at each call, which takes longer than
-- the look.
--
-- Called by   interrupt_silent, spawn_job
-- Returns     their ids, when they last gave a sign of life, and how long they may be silent

create or replace function cortex.silent_jobs(candidates bigint[], older_than interval)
returns table (id bigint, updated_at timestamptz, stale_after interval)
language plpgsql
stable
set search_path = ''
set plan_cache_mode = force_generic_plan
rows 1
as $$
begin
    -- An age is compared, not a point in time: however long a kind may be silent, nothing overflows.
    return query
    select
        j.id,
        j.updated_at,
        p.stale_after
    from cortex.job as j
    left join cortex.kind as k on k.name = j.kind
    cross join cortex.settings as s
    cross join lateral (
        select coalesce(silent_jobs.older_than, k.stale_after, s.stale_after) as stale_after
    ) as p
    where j.id = any(silent_jobs.candidates)
        and case j.status
            when 'running' then clock_timestamp() - j.updated_at > p.stale_after
            -- Waiting is not silence, unless the one to start it is gone.
            when 'queued' then clock_timestamp() - greatest(j.updated_at, j.run_at) > p.stale_after
                and exists (
                    select from cortex.runners as r where r.uuid = j.runner and not r.alive
                )
            else false
        end;
end;
$$;

comment on function cortex.silent_jobs(bigint[], interval) is
'Those of the given jobs that have been silent for too long.';
