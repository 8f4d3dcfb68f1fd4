-- The name of this database's entry in pg_cron. Names are unique per user over all databases of a
-- server, so it carries the database's.

create or replace function cortex.cron_entry()
returns text
language sql
stable
security definer
set search_path = ''
as $$
    select 'cortex.maintain in ' || current_database();
$$;

comment on function cortex.cron_entry() is
'Name of the pg_cron entry that runs the upkeep of this database.';
