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
begin
    return cortex.take_cron_entry(entry => cortex.cron_entry(), command => 'pycortex unschedule');
end;
$$;

comment on function cortex.unschedule_maintenance() is
'Takes the upkeep of this database off pg_cron.';
