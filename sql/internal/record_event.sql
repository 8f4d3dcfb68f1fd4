-- Write down every change of state of a job, and tell who listens; record_spawns does so for its start.
--
-- Called by   the trigger job_records_its_changes, for each row
-- Notifies    cortex_jobs ('UUID STATUS') always; cortex_queue (the kind) when a job may be claimed

create or replace function cortex.record_event()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_now constant pg_catalog.timestamptz := clock_timestamp();
    v_told boolean;
begin
    insert into cortex.event (
        job_id, from_status, to_status, attempt, runner, actor, message
    )
    values (
        new.id,
        old.status,
        new.status,
        new.attempt,
        new.runner,
        case when new.status = 'cancelled' then new.cancel_requested_by else '' end,
        new.message
    );

    -- As an expression: a perform would be a query of its own, which costs several times the call.
    v_told := pg_notify('cortex_jobs', new.uuid || ' ' || new.status) is not null;

    if new.status = 'queued' then
        if new.runner is null and new.run_at <= v_now then
            v_told := pg_notify('cortex_queue', new.kind) is not null;
        end if;
    elsif new.finished_at is not null and old.status = 'running' then
        -- A job that had to wait for this one, for its scope or its kind's limit, is free now. Two
        -- questions, each with its index: all that waits is too much to look through at every end. A call
        -- for a limited kind may be for nothing, where only jobs of other kinds are ready.
        if (
            new.debounce_scope is not null
            and exists (
                select
                from cortex.job as f
                where f.kind = new.kind
                    and f.debounce_scope = new.debounce_scope
                    and f.status = 'queued'
                    and f.runner is null
                    and f.run_at <= v_now
            )
        )
        or (
            exists (
                select
                from cortex.settings as s
                left join cortex.kind as k on k.name = new.kind
                where coalesce(k.max_running, s.max_running) is not null
            )
            -- In the order of an index: what waits lies behind all that is over, so that a look from end to
            -- end, which statistics may favour, would come to it last.
            and (
                select f.id
                from cortex.job as f
                where f.status = 'queued'
                    and f.runner is null
                    and f.run_at <= v_now
                order by f.kind
                limit 1
            ) is not null
        )
        then
            perform pg_notify('cortex_queue', new.kind);
        end if;
    end if;

    return null;
end;
$$;

comment on function cortex.record_event() is
'Trigger: writes an event row and notifies at every change of state.';

create or replace trigger job_records_its_changes
after update of status on cortex.job
for each row
execute function cortex.record_event();

comment on trigger job_records_its_changes on cortex.job is
'No routine can change a state without a trace. Heartbeats do not set status, so they do not pay for it.';
