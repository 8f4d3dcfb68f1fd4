-- Say that the calling session runs a job's SQL.
--
-- Called by   a body, in the session that it works in; not through a pooler
-- Raises      22004 job is null, JC101 no such job, JC201 the job does not run
-- Locks       the job's row

create or replace function cortex.attach_backend(job uuid)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
    update cortex.job as j
    set backend_pid = a.pid,
        backend_start = a.backend_start
    from pg_catalog.pg_stat_get_activity(pg_backend_pid()) as a
    where j.uuid = attach_backend.job
        and j.status = 'running';

    if not found then
        perform cortex.require_job(job => attach_backend.job);
        raise exception 'job % does not run', attach_backend.job
            using errcode = 'JC201', hint = 'Attach the session after the start of the job.';
    end if;
end;
$$;

comment on function cortex.attach_backend(uuid) is
'Ties the calling session to a running job, so that it can be watched and ended from outside.';
