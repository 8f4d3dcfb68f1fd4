-- Say that the calling session runs a job's SQL.
--
-- Runs as its caller, the only one who is sure to see when the session began.
--
-- Called by   a body, in the session that it works in; not through a pooler
-- Raises      22004 job is null, JC101 no such job, JC201 the job does not run
-- Locks       the job's row

create or replace function cortex.attach_backend(job uuid)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    perform cortex.attach_session(
        job => attach_backend.job,
        backend_start => (
            select a.backend_start
            from pg_catalog.pg_stat_activity as a
            where a.pid = pg_backend_pid()
        )
    );
end;
$$;

comment on function cortex.attach_backend(uuid) is
'Ties the calling session to a running job, so that it can be watched and ended from outside.';
