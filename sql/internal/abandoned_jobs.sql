-- Which of the given jobs have a runner that is gone.
--
-- In plpgsql, and planned once per session, as silent_jobs.
--
-- Called by   interrupt_abandoned, spawn_job
-- Returns     their ids, when they last gave a sign of life, and what to say of them

create or replace function cortex.abandoned_jobs(candidates bigint[])
returns table (id bigint, updated_at timestamptz, reason text)
language plpgsql
stable
set search_path = ''
set plan_cache_mode = force_generic_plan
rows 1
as $$
begin
    return query
    select
        j.id,
        j.updated_at,
        format('its runner %s (pid %s on %s) is gone; interrupted', r.name, r.pid, r.host)
    from cortex.job as j
    join cortex.runners as r on r.uuid = j.runner
    where j.id = any(abandoned_jobs.candidates)
        and case when j.status in ('queued', 'running') then true else false end
        and not r.alive;
end;
$$;

comment on function cortex.abandoned_jobs(bigint[]) is
'Those of the given jobs whose runner is gone.';
