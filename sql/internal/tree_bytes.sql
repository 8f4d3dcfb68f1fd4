-- What a table holds without its indexes; a partitioned one with all of its partitions.
--
-- Called by   analyze_table, as whoever works; the body of kind analyze, as its runner; maintenance_plan
-- Returns     null where one of them is locked at this moment

create or replace function cortex.tree_bytes(relation oid)
returns bigint
language sql
stable
set search_path = ''
as $$
    select case
        when count(*) = count(s.bytes) then coalesce(sum(s.bytes), 0)::bigint
    end
    from (
        select cortex.relation_bytes(relation => t.relation_id) as bytes
        from cortex.partition_tree(relation => tree_bytes.relation) as t
        where t.relkind <> 'p'
    ) as s;
$$;

comment on function cortex.tree_bytes(oid) is
'Bytes of a table and its partitions, without indexes; null where one of them is locked at this moment.';
