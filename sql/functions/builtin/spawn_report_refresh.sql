-- Ask for all reports to be forgotten; each is counted anew when somebody asks for it.
--
-- Called by   anybody who wants it done; part of the caller's transaction
-- Returns     the job's uuid, and whether it was created now; false: a refresh is queued or running
-- Raises      0A000 schema corpus not installed

create or replace function cortex.spawn_report_refresh(actor text default '')
returns table (uuid uuid, created boolean)
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
    perform cortex.require_reports();

    return query
    select
        s.uuid,
        s.created
    from cortex.spawn_job(
        kind => 'refresh_reports',
        actor => spawn_report_refresh.actor,
        debounce_scope => '{}'
    ) as s;
end;
$$;

comment on function cortex.spawn_report_refresh(text) is
'Queues the invalidation of all cached reports.';
