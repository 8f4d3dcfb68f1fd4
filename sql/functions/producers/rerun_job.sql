-- Do the work of a job that is over once more, as a new job.
--
-- Called by   an operator, when the reason of a failure is mended
-- Returns     the new job, or the active one of the same scope, as spawn_job does
-- Raises      22004 job is null, JC101 no such job, JC201 the job is still active

create or replace function cortex.rerun_job(job uuid, actor text default '')
returns table (uuid uuid, created boolean)
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_job cortex.job;
begin
    select j.* into v_job
    from cortex.job as j
    where j.uuid = rerun_job.job;

    if not found then
        perform cortex.require_job(job => rerun_job.job);
    end if;
    if v_job.finished_at is null then
        raise exception 'job % is %', rerun_job.job, v_job.status
            using errcode = 'JC201', hint = 'Wait for its end, or cancel it.';
    end if;

    return query
    select s.uuid, s.created
    from cortex.spawn_job(
        kind => v_job.kind,
        actor => rerun_job.actor,
        params => v_job.params,
        debounce_scope => v_job.debounce_scope,
        debounce_on => v_job.debounce_on,
        priority => v_job.priority
    ) as s;
end;
$$;

comment on function cortex.rerun_job(uuid, text) is
'Spawns a job of the same kind, params and scope as one that is over.';
