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
begin
    return cortex.put_cron_entry(
        entry => cortex.cron_entry(),
        schedule => coalesce(schedule_maintenance.schedule, '* * * * *'),
        statement => 'select cortex.maintain()',
        command => 'pycortex schedule'
    );
end;
$$;

comment on function cortex.schedule_maintenance(text) is
'Puts the upkeep of this database on pg_cron; idempotent.';
