-- Let pg_cron run the upkeep of this database; call it again to change the schedule.
--
-- Called by   an operator, once
-- Returns     the number of the entry in pg_cron
-- Raises      0A000 pg_cron can't be called here (the hint says what to do),
--             22023 the schedule isn't a cron line (pg_cron judges what has five fields),
--             28000 the owner of this schema can't log in

create or replace function cortex.schedule_maintenance(schedule text default '* * * * *')
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
    -- Some versions of pg_cron read five fields and drop a sixth without a word.
    if array_length(
        regexp_split_to_array(btrim(schedule_maintenance.schedule), '[[:space:]]+'), 1
    ) > 5 then
        raise exception 'schedule % has more than five fields', schedule_maintenance.schedule
            using errcode = '22023', hint = 'Give minute, hour, day, month and weekday: * * * * *';
    end if;

    perform cortex.require_cron();

    if not (select r.rolcanlogin from pg_catalog.pg_roles as r where r.rolname = current_user) then
        raise exception 'role % owns schema cortex but can''t log in, so pg_cron can''t run as it',
            current_user
            using errcode = '28000', hint = format('alter role %I login;', current_user);
    end if;

    return cron.schedule(
        cortex.cron_entry(),
        coalesce(schedule_maintenance.schedule, '* * * * *'),
        'select cortex.maintain()'
    );
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
