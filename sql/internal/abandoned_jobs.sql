-- Which of the given jobs have a runner that is gone.
--
-- Called by   interrupt_abandoned, spawn_job
-- Returns     their ids, when they last gave a sign of life, and what to say of them

create or replace function cortex.abandoned_jobs(candidates bigint[])
returns table (id bigint, updated_at timestamptz, reason text)
language sql
stable
set search_path = ''
rows 1
as $$
    select
        j.id,
        j.updated_at,
        format('its runner %s (pid %s on %s) is gone; interrupted', r.name, r.pid, r.host)
    from cortex.job as j
    join cortex.runners as r on r.uuid = j.runner
    where j.id = any(abandoned_jobs.candidates)
        and j.status in ('queued', 'running')
        and not r.alive;
$$;

comment on function cortex.abandoned_jobs(bigint[]) is
'Those of the given jobs whose runner is gone.';
