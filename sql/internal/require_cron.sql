-- Say what is missing where pg_cron can't be called in this database.
--
-- Called by   schedule_maintenance, unschedule_maintenance
-- Raises      0A000 with what to do: pg_cron is not on the server, not created here, or lives in
--             another database (then the detail names that database, alone)

create or replace function cortex.require_cron()
returns void
language plpgsql
stable
set search_path = ''
as $$
declare
    v_home pg_catalog.text;
begin
    if exists (select from pg_catalog.pg_extension as e where e.extname = 'pg_cron') then
        return;
    end if;

    begin
        v_home := current_setting('cron.database_name', true);
    exception when insufficient_privilege then
        -- Only members of pg_read_all_settings may know.
        v_home := null;
    end;

    if v_home = current_database() then
        raise exception 'pg_cron is loaded but not created in database %', current_database()
            using errcode = '0A000', hint = 'As a superuser: create extension pg_cron;';
    end if;
    if v_home <> current_database() then
        raise exception 'pg_cron lives in database %, not in %', v_home, current_database()
            using errcode = '0A000',
            detail = v_home,
            hint = format(
                'Run "pycortex schedule", or in database %s: select cron.schedule_in_database('
                || '%L, ''* * * * *'', ''select cortex.maintain()'', %L);',
                v_home, cortex.cron_entry(), current_database()
            );
    end if;
    raise exception 'pg_cron is not in database %', current_database()
        using errcode = '0A000',
        hint = format(
            'If it lives in another database of this server, run there: select '
            || 'cron.schedule_in_database(%L, ''* * * * *'', ''select cortex.maintain()'', %L); '
            || 'else install it, or leave the upkeep to running workers.',
            cortex.cron_entry(), current_database()
        );
end;
$$;

comment on function cortex.require_cron() is
'Raises, with what to do, unless pg_cron can be called in this database.';
