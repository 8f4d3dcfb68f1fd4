-- Take the caller's entry for jobs with a body in SQL off pg_cron.
--
-- Called by   an operator, as the role that scheduled it
-- Returns     whether there was an entry
-- Raises      0A000 pg_cron can't be called here (the hint says what to do), 42501 another role made the
--             entry, or the caller may not use pg_cron

create or replace function cortex.unschedule_work()
returns boolean
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    return cortex.take_cron_entry(entry => cortex.cron_name(what => 'work'), command => null);
end;
$$;

comment on function cortex.unschedule_work() is
'Takes the caller''s entry for bodies in SQL off pg_cron.';
