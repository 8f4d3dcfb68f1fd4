-- Note how far a job got; with the same call prove it alive and hear whether to go on.
--
-- Called by   whoever runs the body, at every step worth seeing
-- Returns     continue; cancel (somebody asked for its end); stop (it is not this attempt's any more)
-- Raises      22004 job or current is null, JC101 no such job, 55P03 somebody kept the row locked for 2 s
-- Locks       the job's row; not in a body in SQL that does not commit, whose last step is written at its end

create or replace function cortex.step(
    job uuid,
    current bigint,
    total bigint default null,
    message text default '',
    attempt integer default null
)
returns cortex.verdict
language plpgsql
volatile
security definer
set search_path = ''
set lock_timeout = '2s'
as $$
declare
    v_cancel boolean;
begin
    if step.current is null then
        raise exception 'current is null'
            using errcode = '22004', hint = 'Give the units done so far; 0 when they are not counted.';
    end if;

    -- A body in SQL that does not commit would keep the row from everybody till its end, unseen.
    if current_setting('cortex.uncommitted_body', true) = step.job::pg_catalog.text then
        return cortex.hold_step(
            job => step.job,
            current => step.current,
            total => step.total,
            attempt => step.attempt
        );
    end if;

    update cortex.job as j
    set progress_current = step.current,
        progress_total = step.total,
        -- The call costs as much as the rest of this statement; few messages need it.
        message = case
            when length(step.message) > 4000 then cortex.clip(step.message)
            else coalesce(step.message, '')
        end,
        updated_at = clock_timestamp()
    where j.uuid = step.job
        and j.status = 'running'
        and (step.attempt is null or j.attempt = step.attempt)
    returning j.cancel_requested_at is not null into v_cancel;

    if found then
        return case when v_cancel then 'cancel'::cortex.verdict else 'continue'::cortex.verdict end;
    end if;

    perform cortex.require_job(job => step.job);
    return 'stop'::cortex.verdict;
end;
$$;

comment on function cortex.step(uuid, bigint, bigint, text, integer) is
'Records progress and the heartbeat of a running job; says whether to go on.';
