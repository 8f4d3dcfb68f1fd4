-- The newest migration that this database has seen, for a client that wants to know at its start
-- whether it fits.
--
-- Called by   runners and the command, once for each start
-- Returns     such as 0006.create-upkeep; it grows in the order of the C locale

create or replace function cortex.schema_version()
returns text
language sql
stable
security definer
set search_path = ''
as $$
    select max(m.migration_id collate "C") from cortex._yoyo_migration as m;
$$;

comment on function cortex.schema_version() is
'Name of the newest migration that was applied to this database.';
