-- Start one particular job.
--
-- Called by   the runner that spawned it for itself
-- Returns     true: it runs now, in a new attempt. False: it does not wait any more, is another
--             runner's, has its run_at ahead, or follows a job of its scope that still runs (then it
--             waits on; ask again)
-- Raises      22004 job is null, JC101 no such job, JC102 no such runner or retired
-- Locks       the job's row

create or replace function cortex.set_running(job uuid, runner uuid default null)
returns boolean
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_now constant pg_catalog.timestamptz := clock_timestamp();
begin
    if set_running.runner is not null then
        perform cortex.require_runner(runner => set_running.runner);
    end if;

    update cortex.job as j
    set status = 'running',
        runner = coalesce(set_running.runner, j.runner),
        attempt = j.attempt + 1,
        started_at = v_now,
        updated_at = v_now
    where j.uuid = set_running.job
        and j.status = 'queued'
        and j.run_at <= v_now
        and (
            j.runner is null
            or set_running.runner is null
            or j.runner = set_running.runner
        )
        and not exists (
            select
            from cortex.job as before
            where before.kind = j.kind
                and before.debounce_scope = j.debounce_scope
                and before.status = 'running'
        );

    if found then
        return true;
    end if;

    perform cortex.require_job(job => set_running.job);
    return false;
end;
$$;

comment on function cortex.set_running(uuid, uuid) is
'Takes one queued job to running; says whether it did.';
