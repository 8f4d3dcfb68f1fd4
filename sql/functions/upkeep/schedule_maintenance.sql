-- Let pg_cron run the upkeep of this database; call it again to change the schedule, or to switch an entry
-- on that was switched off.
--
-- Called by   an operator, once
-- Returns     the number of the entry in pg_cron
-- Raises      0A000 pg_cron can't be called here (the hint says what to do),
--             22023 the schedule isn't a cron line (pg_cron judges what has five fields),
--             28000 the owner of this schema can't log in, 42501 or may not use pg_cron

create or replace function cortex.schedule_maintenance(schedule text default '* * * * *')
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_schedule constant pg_catalog.text := coalesce(schedule_maintenance.schedule, '* * * * *');
begin
    -- Some versions of pg_cron read five fields and drop a sixth without a word.
    if array_length(
        regexp_split_to_array(btrim(v_schedule), '[[:space:]]+'), 1
    ) > 5 then
        raise exception 'schedule % has more than five fields', v_schedule
            using errcode = '22023', hint = 'Give minute, hour, day, month and weekday: * * * * *';
    end if;

    perform cortex.require_cron(
        command => 'pycortex schedule',
        statement => format(
            'select cron.schedule_in_database(%L, %L, ''select cortex.maintain()'', %L)',
            cortex.cron_entry(), v_schedule, current_database()
        )
    );

    -- To schedule an entry again leaves it switched off, where it was.
    perform cron.unschedule(j.jobid)
    from cron.job as j
    where j.jobname = cortex.cron_entry()
        and j.database = current_database()
        and j.username = current_user
        and not j.active;

    return cron.schedule(cortex.cron_entry(), v_schedule, 'select cortex.maintain()');
exception when invalid_parameter_value then
    raise exception '%', sqlerrm
        using errcode = '22023',
        hint = format(
            'pg_cron %s here. Five fields, at the finest every minute: * * * * *; from 1.5 on also '
            || '"[1-59] seconds".',
            (select e.extversion from pg_catalog.pg_extension as e where e.extname = 'pg_cron')
        );
end;
$$;

comment on function cortex.schedule_maintenance(text) is
'Puts the upkeep of this database on pg_cron; idempotent.';
