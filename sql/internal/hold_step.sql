-- Keep a step of a body in SQL for the body's end, and look how its job stands.
--
-- Such a body does not commit before its end. A step that was written would be seen by nobody, and whoever
-- wants to cancel the job would wait for its row.
--
-- Called by   step, in a body that work runs inside a transaction
-- Returns     what step returns
-- Raises      JC101 no such job

create or replace function cortex.hold_step(
    job uuid,
    current bigint,
    total bigint,
    attempt integer
)
returns cortex.verdict
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_job cortex.job;
begin
    select j.* into v_job
    from cortex.job as j
    where j.uuid = hold_step.job;

    if not found then
        perform cortex.require_job(job => hold_step.job);
    end if;
    if v_job.status <> 'running' or v_job.attempt <> coalesce(hold_step.attempt, v_job.attempt) then
        return 'stop'::cortex.verdict;
    end if;

    perform set_config(
        'cortex.held_step',
        jsonb_build_array(hold_step.current, hold_step.total)::pg_catalog.text,
        true
    );
    return case
        when v_job.cancel_requested_at is not null then 'cancel'::cortex.verdict
        else 'continue'::cortex.verdict
    end;
end;
$$;

comment on function cortex.hold_step(uuid, bigint, bigint, integer) is
'Keeps the step of a body that does not commit, until its end.';
