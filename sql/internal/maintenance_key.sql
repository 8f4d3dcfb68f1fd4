-- Second key of the advisory lock that a maintenance job holds while it works on a table.
--
-- A partitioned table and its partitions are one: an ANALYZE of it works on all of them. Two tables may share a
-- key by chance; then one waits for the other, and no more.
--
-- Called by   the bodies of kinds reindex and analyze
-- Returns     -2 and less, where no other lock of this system is

create or replace function cortex.maintenance_key(relation oid)
returns integer
language sql
stable
set search_path = ''
as $$
    select (
        -2 - coalesce(pg_partition_root(maintenance_key.relation)::pg_catalog.oid, maintenance_key.relation)::bigint
        % 2147483646
    )::integer;
$$;

comment on function cortex.maintenance_key(oid) is
'Second key of the advisory lock on a table that is being reindexed or analyzed.';
