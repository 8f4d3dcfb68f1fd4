-- Take locked, queued jobs to running: a new attempt, with nothing left of the one before.
--
-- Called by   set_running, claim_jobs, which have checked that they may
-- Signals     sessions that still run SQL of an attempt that was given up: they are ended

create or replace function cortex.start_jobs(ids bigint[], runner uuid)
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_now constant pg_catalog.timestamptz := clock_timestamp();
begin
    perform cortex.signal_backend(
        pid => j.backend_pid, backend_start => j.backend_start, terminate => true
    )
    from cortex.job as j
    where j.id = any(start_jobs.ids)
        and j.backend_pid is not null;

    update cortex.turnstile as t
    set passed = t.passed + 1
    where t.kind in (select j.kind from cortex.job as j where j.id = any(start_jobs.ids))
        and (select r.max_running from cortex.rules(kind => t.kind) as r) is not null;

    update cortex.job as j
    set status = 'running',
        runner = coalesce(start_jobs.runner, j.runner),
        attempt = j.attempt + 1,
        progress_current = 0,
        progress_total = null,
        message = '',
        result = null,
        started_at = v_now,
        updated_at = v_now,
        backend_pid = null,
        backend_start = null
    where j.id = any(start_jobs.ids);
end;
$$;

comment on function cortex.start_jobs(bigint[], uuid) is
'Starts a new attempt of queued jobs.';
