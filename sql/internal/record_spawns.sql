-- Write down the start of each job's life, and tell who listens.
--
-- For a statement, not for a row: many jobs that come at once share its cost.
--
-- Called by   the trigger job_records_its_spawn, for each statement that inserts
-- Notifies    cortex_jobs ('UUID STATUS') for each job; cortex_queue (the kind) when one may be claimed

create or replace function cortex.record_spawns()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_now constant pg_catalog.timestamptz := clock_timestamp();
begin
    insert into cortex.event (job_id, to_status, attempt, runner, actor, message)
    select
        s.id,
        s.status,
        s.attempt,
        s.runner,
        s.actor,
        s.message
    from new_rows as s;

    -- What is told twice in a transaction is heard once, so a kind needs no look whether it was told.
    perform
        count(pg_notify('cortex_jobs', s.uuid || ' ' || s.status))
        + count(
            case
                when s.status = 'queued' and s.runner is null and s.run_at <= v_now
                then pg_notify('cortex_queue', s.kind)
            end
        )
    from new_rows as s;

    return null;
end;
$$;

comment on function cortex.record_spawns() is
'Trigger: writes an event row and notifies for each new job.';

create or replace trigger job_records_its_spawn
after insert on cortex.job
referencing new table as new_rows
for each statement
execute function cortex.record_spawns();

comment on trigger job_records_its_spawn on cortex.job is
'No routine can make a job without a trace.';
