-- Write how a job ended.
--
-- Called by   whoever ran the body, once it is over; safe to repeat
-- Returns     true: the outcome is written, now or before; a failed job may wait for its next attempt.
--             False: it is over with another one, which stands
-- Raises      22004 job or status is null, 22023 not an outcome or result over 8 MiB, JC101 no such job,
--             JC201 the job is not started, JC202 that attempt is over and the job goes on to a newer one
-- Locks       the job's row

create or replace function cortex.finish_job(
    job uuid,
    status cortex.job_status,
    message text default '',
    result jsonb default null,
    attempt integer default null
)
returns boolean
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_message constant pg_catalog.text := case
        when length(finish_job.message) > 4000 then cortex.clip(finish_job.message)
        else coalesce(finish_job.message, '')
    end;
    v_now constant pg_catalog.timestamptz := clock_timestamp();
    v_job cortex.job;
begin
    if finish_job.status is null then
        raise exception 'status is null'
            using errcode = '22004', hint = 'Give succeeded, failed or cancelled.';
    end if;
    if finish_job.status not in ('succeeded', 'failed', 'cancelled') then
        raise exception 'a body can''t end %', finish_job.status
            using errcode = '22023', hint = 'Give succeeded, failed or cancelled.';
    end if;
    -- Wrapped, because a value from a table may be compressed, and its size then says nothing.
    if pg_column_size(jsonb_build_array(finish_job.result)) > 8388608 then
        raise exception 'result holds % bytes',
            pg_column_size(jsonb_build_array(finish_job.result))
            using errcode = '22023',
            hint = 'At most 8388608 (8 MiB); keep bulk data in a table of its own and return its key.';
    end if;

    -- Whoever was only slow corrects the interruption of the same attempt.
    update cortex.job as j
    set status = finish_job.status,
        message = v_message,
        result = finish_job.result,
        updated_at = v_now,
        finished_at = greatest(v_now, j.started_at),
        backend_pid = null,
        backend_start = null
    where j.uuid = finish_job.job
        and j.started_at is not null
        and j.status in ('running', 'interrupted')
        and (finish_job.attempt is null or j.attempt = finish_job.attempt)
    returning j.id into v_job.id;

    if found then
        if finish_job.status = 'failed' then
            perform cortex.retry_jobs(ids => array[v_job.id]);
        end if;
        return true;
    end if;

    select j.* into v_job
    from cortex.job as j
    where j.uuid = finish_job.job;

    if not found then
        perform cortex.require_job(job => finish_job.job);
    end if;

    -- The answer to the first call may have been lost, and the job gone on since.
    if exists (
        select
        from cortex.event as e
        where e.job_id = v_job.id
            and e.attempt = coalesce(finish_job.attempt, v_job.attempt)
            and e.to_status = finish_job.status
            and e.message = v_message
    ) then
        return v_job.status <> finish_job.status
            or v_job.attempt <> coalesce(finish_job.attempt, v_job.attempt)
            or v_job.result is not distinct from finish_job.result;
    end if;

    if v_job.attempt > 0
        and finish_job.attempt is not null
        and (v_job.attempt <> finish_job.attempt or v_job.status = 'queued')
    then
        raise exception 'attempt % of job % is over, it is at attempt % and %',
            finish_job.attempt, finish_job.job, v_job.attempt, v_job.status
            using errcode = 'JC202', hint = 'Drop the outcome; the next attempt writes its own.';
    end if;
    if v_job.status = 'queued' then
        raise exception 'job % is queued, not started', finish_job.job
            using errcode = 'JC201', hint = 'Call set_running or claim_jobs first.';
    end if;
    return false;
end;
$$;

comment on function cortex.finish_job(uuid, cortex.job_status, text, jsonb, integer) is
'Writes the outcome of a job; final unless the job was only presumed dead.';
