-- Tie the calling session to a job.
--
-- Open to whoever may call attach_backend. A caller can name no session but its own, and a start that is
-- not true only keeps that session from being found.
--
-- Called by   attach_backend
-- Raises      22004 job is null, JC101 no such job, JC201 the job does not run
-- Locks       the job's row

create or replace function cortex.attach_session(job uuid, backend_start timestamptz)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
    update cortex.job as j
    set backend_pid = case
            when attach_session.backend_start is not null then pg_backend_pid()
        end,
        backend_start = attach_session.backend_start
    where j.uuid = attach_session.job
        and j.status = 'running';

    if not found then
        perform cortex.require_job(job => attach_session.job);
        raise exception 'job % does not run', attach_session.job
            using errcode = 'JC201', hint = 'Attach the session after the start of the job.';
    end if;
    if attach_session.backend_start is null then
        raise warning 'session % may not see when it began, so job % can''t be tied to it',
            pg_backend_pid(), attach_session.job
            using hint = 'Attach it as the role that logged in, before any set role.';
    end if;
end;
$$;

comment on function cortex.attach_session(uuid, timestamptz) is
'Ties the calling session, which began at that moment, to a running job.';
