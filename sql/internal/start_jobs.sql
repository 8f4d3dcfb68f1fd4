-- Take locked, queued jobs to running: a new attempt, with nothing left of the one before.
--
-- Called by   set_running, claim_jobs, which have checked that they may

create or replace function cortex.start_jobs(ids bigint[], runner uuid)
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_now constant pg_catalog.timestamptz := clock_timestamp();
begin
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
