-- Take the upkeep of this database off pg_cron.
--
-- Called by   an operator
-- Returns     whether there was an entry
-- Raises      0A000 pg_cron can't be called here (the hint says what to do)

create or replace function cortex.unschedule_maintenance()
returns boolean
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_entry bigint;
begin
    perform cortex.require_cron();

    -- By number: by name pg_cron finds only what the current role scheduled.
    select j.jobid into v_entry
    from cron.job as j
    where j.jobname = cortex.cron_entry()
        and j.database = current_database()
        and j.username = current_user;

    if not found then
        return false;
    end if;
    return cron.unschedule(v_entry);
end;
$$;

comment on function cortex.unschedule_maintenance() is
'Takes the upkeep of this database off pg_cron.';
