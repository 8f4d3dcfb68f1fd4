-- Start one particular job.
--
-- Called by   the runner that spawned it for itself
-- Returns     true: it runs now, in a new attempt. False: it does not wait any more or is another
--             runner's; or its run_at is ahead, a job of its scope still runs, or its kind's max_running is
--             reached: then it waits on, ask again
-- Raises      22004 job is null, JC101 no such job, JC102 no such runner or retired; 40001 in repeatable read
--             and serializable when the job, or others of a kind with a max_running, changed meanwhile
-- Locks       the turnstile of a kind that has a max_running, then the job's row

create or replace function cortex.set_running(job uuid, runner uuid default null)
returns boolean
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_job cortex.job;
    v_slots integer;
begin
    if set_running.runner is not null then
        perform cortex.require_runner(runner => set_running.runner);
    end if;

    select j.* into v_job
    from cortex.job as j
    where j.uuid = set_running.job;

    if not found then
        perform cortex.require_job(job => set_running.job);
    end if;
    if v_job.status <> 'queued' then
        return false;
    end if;

    v_slots := cortex.free_slots(kind => v_job.kind);

    select j.* into v_job
    from cortex.job as j
    where j.uuid = set_running.job
    for update;

    if v_job.status <> 'queued'
        or v_job.run_at > clock_timestamp()
        or v_job.runner <> set_running.runner
        or exists (
            select
            from cortex.job as before
            where before.kind = v_job.kind
                and before.debounce_scope = v_job.debounce_scope
                and before.status = 'running'
        )
        or v_slots = 0
    then
        return false;
    end if;

    perform cortex.start_jobs(ids => array[v_job.id], runner => set_running.runner);
    return true;
end;
$$;

comment on function cortex.set_running(uuid, uuid) is
'Takes one queued job to running; says whether it did.';
