-- Take an entry of ours off pg_cron.
--
-- Called by   unschedule_maintenance, unschedule_work, unschedule_job
-- Returns     whether there was one that the caller may see
-- Raises      what require_cron raises; 42501 another role made the entry

create or replace function cortex.take_cron_entry(entry text, command text)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_number bigint;
    v_owner pg_catalog.text;
begin
    perform cortex.require_cron(
        command => take_cron_entry.command,
        statement => format(
            'select cron.unschedule(jobid) from cron.job where jobname = %L and database = %L',
            take_cron_entry.entry, current_database()
        )
    );

    -- By number: by name pg_cron finds only what the current role scheduled.
    select
        j.jobid,
        j.username
    into v_number, v_owner
    from cron.job as j
    where j.jobname = take_cron_entry.entry
        and j.database = current_database()
    order by j.username = current_user desc
    limit 1;

    if not found then
        return false;
    end if;
    if v_owner <> current_user then
        raise exception 'entry % of pg_cron belongs to role %, not to %', v_number, v_owner, current_user
            using errcode = '42501',
            hint = format('As that role, in this database: select cron.unschedule(%s);', v_number);
    end if;
    return cron.unschedule(v_number);
end;
$$;

comment on function cortex.take_cron_entry(text, text) is
'Takes an entry of the caller''s off pg_cron.';
