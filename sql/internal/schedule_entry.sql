-- The name of the entry in pg_cron that spawns a job on a schedule.
--
-- Called by   schedule_job, unschedule_job, list_schedules, purge_cron_runs

create or replace function cortex.schedule_entry(name text)
returns text
language sql
stable
set search_path = ''
as $$
    select cortex.cron_name(what => 'job ' || schedule_entry.name);
$$;

comment on function cortex.schedule_entry(text) is
'Name of the pg_cron entry of a schedule.';
