-- The name of the entry in pg_cron that runs the upkeep of this database.

create or replace function cortex.cron_entry()
returns text
language sql
stable
security definer
set search_path = ''
as $$
    select cortex.cron_name(what => 'maintain');
$$;

comment on function cortex.cron_entry() is
'Name of the pg_cron entry that runs the upkeep of this database.';
