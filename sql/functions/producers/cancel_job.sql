-- Ask for the end of a job.
--
-- Called by   anybody who changed their mind
-- Returns     the job's state after the call: cancelled for one that waited; running for one that runs and
--             is told at its next step or its runner's next beat; unchanged for one that is over
-- Raises      22004 job is null, JC101 no such job, 22023 actor too long
-- Locks       the job's row
-- Signals     hard: cancels the statement of the attached session; maintain ends that session when
--             cancel_grace has passed and the job still runs

create or replace function cortex.cancel_job(
    job uuid,
    actor text default '',
    hard boolean default false
)
returns cortex.job_status
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_actor constant pg_catalog.text := coalesce(cancel_job.actor, '');
    -- Whoever does not say who they are is known by the role that logged in.
    v_by constant pg_catalog.text := case
        when v_actor = '' then session_user::pg_catalog.text
        else v_actor
    end;
    v_now pg_catalog.timestamptz;
    v_job cortex.job;
begin
    if length(v_actor) > 200 then
        raise exception 'actor is % characters long', length(v_actor)
            using errcode = '22023', hint = 'At most 200 characters.';
    end if;

    select j.* into v_job
    from cortex.job as j
    where j.uuid = cancel_job.job
    for no key update;

    if not found then
        perform cortex.require_job(job => cancel_job.job);
    end if;
    v_now := clock_timestamp();

    if v_job.status = 'queued' then
        update cortex.job as j
        set status = 'cancelled',
            message = case
                when v_actor = '' then 'cancelled before it started'
                else 'cancelled by ' || v_actor || ' before it started'
            end,
            cancel_requested_at = v_now,
            cancel_requested_by = v_by,
            finished_at = v_now
        where j.id = v_job.id;
        return 'cancelled'::cortex.job_status;
    end if;

    if v_job.status = 'running' then
        update cortex.job as j
        set cancel_requested_at = coalesce(j.cancel_requested_at, v_now),
            cancel_requested_by = case
                when j.cancel_requested_at is null then v_by
                else j.cancel_requested_by
            end,
            cancel_hard_at = case
                when cancel_job.hard then coalesce(j.cancel_hard_at, v_now)
                else j.cancel_hard_at
            end
        where j.id = v_job.id;

        if cancel_job.hard then
            perform cortex.signal_backend(
                pid => v_job.backend_pid, backend_start => v_job.backend_start, terminate => false
            );
        end if;
    end if;

    return v_job.status;
end;
$$;

comment on function cortex.cancel_job(uuid, text, boolean) is
'Ends a waiting job, asks a running one to end; hard also ends what it runs in the database.';
