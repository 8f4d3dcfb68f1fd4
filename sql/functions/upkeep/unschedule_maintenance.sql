-- Take the upkeep of this database off pg_cron.
--
-- Called by   an operator
-- Returns     whether there was an entry
-- Raises      0A000 pg_cron can't be called here (the hint says what to do), 42501 another role made the
--             entry, or the owner of this schema may not use pg_cron

create or replace function cortex.unschedule_maintenance()
returns boolean
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_entry bigint;
    v_owner pg_catalog.text;
begin
    perform cortex.require_cron(
        command => 'pycortex unschedule',
        statement => format(
            'select cron.unschedule(jobid) from cron.job where jobname = %L and database = %L',
            cortex.cron_entry(), current_database()
        )
    );

    -- By number: by name pg_cron finds only what the current role scheduled.
    select
        j.jobid,
        j.username
    into v_entry, v_owner
    from cron.job as j
    where j.jobname = cortex.cron_entry()
        and j.database = current_database()
    order by j.username = current_user desc
    limit 1;

    if not found then
        return false;
    end if;
    if v_owner <> current_user then
        raise exception 'entry % of pg_cron belongs to role %, not to %', v_entry, v_owner, current_user
            using errcode = '42501',
            hint = format('As that role, in this database: select cron.unschedule(%s);', v_entry);
    end if;
    return cron.unschedule(v_entry);
end;
$$;

comment on function cortex.unschedule_maintenance() is
'Takes the upkeep of this database off pg_cron.';
