-- A table with all partitions below it, as the catalogue has them; a plain table alone.
--
-- Unlike PostgreSQL's function of that name it locks none of them, and so waits for nobody.
--
-- Called by   tree_bytes and the bodies of reindex and analyze, as whoever works; maintenance_plan

create or replace function cortex.partition_tree(relation oid)
returns table (relation_id oid, relkind text, relation_name text)
language sql
stable
set search_path = ''
as $$
    with recursive tree as (
        select
            c.oid,
            c.relkind
        from pg_catalog.pg_class as c
        where c.oid = partition_tree.relation
        union
        select
            c.oid,
            c.relkind
        from tree as t
        join pg_catalog.pg_inherits as i on i.inhparent = t.oid and t.relkind = 'p'
        join pg_catalog.pg_class as c on c.oid = i.inhrelid
    )

    select
        t.oid,
        t.relkind::pg_catalog.text,
        format('%I.%I', n.nspname, c.relname)
    from tree as t
    join pg_catalog.pg_class as c on c.oid = t.oid
    join pg_catalog.pg_namespace as n on n.oid = c.relnamespace;
$$;

comment on function cortex.partition_tree(oid) is
'A table and its partitions of all levels, without a lock.';
