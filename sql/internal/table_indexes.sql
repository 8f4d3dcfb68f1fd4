-- The indexes of a table and of its TOAST table, each with what a reindex would find it to be.
--
-- leftover: what a REINDEX CONCURRENTLY that failed did not take away. It is invalid, has the name that
-- PostgreSQL gives (…_ccnew, …_ccold, perhaps with a number), belongs to no constraint, and the table has
-- another index of the same definition, so that nothing is lost with it. Whatever lacks one of these is
-- somebody's own index, whatever its name. dead: somebody's DROP INDEX CONCURRENTLY was not finished.
--
-- Called by   the body of kind reindex, as its runner; maintenance_plan
-- Returns     one row per index: names quoted; bytes null where it is locked at this moment; parts of a partitioned index alone
--             are there, the partitioned index itself holds nothing

create or replace function cortex.table_indexes(relation oid)
returns table (index_id oid, index_name text, bytes bigint, state text)
language sql
stable
set search_path = ''
as $$
    with indexes as (
        select
            x.*,
            c.relname,
            c.relnamespace,
            c.relam,
            c.relispartition,
            c.relname ~ '_cc(new|old)[0-9]*$' as named_so,
            -- As they are stored, which needs no lock; where they stood in the statement does not matter.
            regexp_replace(x.indexprs::pg_catalog.text, ':location -?[0-9]+', '', 'g') as expressions,
            regexp_replace(x.indpred::pg_catalog.text, ':location -?[0-9]+', '', 'g') as predicate,
            -- Known from PostgreSQL 15 on.
            to_jsonb(x) -> 'indnullsnotdistinct' as nulls_alike,
            (
                select array_agg(a.attoptions::pg_catalog.text order by a.attnum)
                from pg_catalog.pg_attribute as a
                where a.attrelid = x.indexrelid
            ) as options
        from pg_catalog.pg_class as t
        join pg_catalog.pg_index as x on x.indrelid in (t.oid, t.reltoastrelid)
        join pg_catalog.pg_class as c on c.oid = x.indexrelid and c.relkind = 'i'
        where t.oid = table_indexes.relation
    )

    select
        i.indexrelid,
        format('%I.%I', n.nspname, i.relname),
        cortex.relation_bytes(relation => i.indexrelid),
        case
            when not i.indisvalid
                and i.named_so
                and not i.relispartition
                and not exists (
                    select from pg_catalog.pg_constraint as k where k.conindid = i.indexrelid
                )
                and exists (
                    select
                    from indexes as o
                    where o.indexrelid <> i.indexrelid
                        and o.indrelid = i.indrelid
                        and o.indislive
                        and (o.indisvalid or not o.named_so)
                        and o.relam = i.relam
                        and o.indisunique = i.indisunique
                        and o.nulls_alike is not distinct from i.nulls_alike
                        and o.indnkeyatts = i.indnkeyatts
                        and o.indkey::pg_catalog.text = i.indkey::pg_catalog.text
                        and o.indclass::pg_catalog.text = i.indclass::pg_catalog.text
                        and o.indoption::pg_catalog.text = i.indoption::pg_catalog.text
                        and o.indcollation::pg_catalog.text = i.indcollation::pg_catalog.text
                        and o.options = i.options
                        and o.expressions is not distinct from i.expressions
                        and o.predicate is not distinct from i.predicate
                )
                then 'leftover'
            when not i.indislive then 'dead'
            when not i.indisvalid then 'invalid'
            when i.indisexclusion then 'exclusion'
            else 'valid'
        end
    from indexes as i
    join pg_catalog.pg_namespace as n on n.oid = i.relnamespace
    order by i.indisvalid, i.indexrelid;
$$;

comment on function cortex.table_indexes(oid) is
'The indexes of a table and its TOAST table, with their sizes and whether they are valid, invalid, dead or '
'left over.';
