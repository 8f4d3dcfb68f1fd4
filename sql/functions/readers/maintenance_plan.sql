-- What a reindex or analyze of tables would do now, and why; it only looks.
--
-- Sizes, states and statistics of any table are open to readers by this. Who is in the way shows by pid
-- alone, unless the login that asks could see that session in pg_stat_activity as well.
--
-- Called by   pycortex reindex and analyze with --dry-run; whoever plans a night's work
-- Returns     one row per table in the order of the work, for a reindex of a partitioned one each partition.
--             Sizes are null where somebody has it locked at this moment.
--             indexes: an array of {index, bytes, state} with the states valid, invalid (made anew), leftover
--             (of a failed REINDEX CONCURRENTLY, dropped), dead (half dropped by somebody, left so), exclusion
--             (PostgreSQL can't rebuild these online). in_the_way: sessions with a lock that the work would
--             wait for, or, for a reindex, with the oldest transaction if that is older than a minute
-- Raises      22023 kind is neither, and what spawn_reindex and spawn_analyze raise for names

create or replace function cortex.maintenance_plan(
    kind text,
    tables text[] default null
)
returns table (
    table_name text,
    partition_of text,
    table_bytes bigint,
    index_bytes bigint,
    indexes jsonb,
    last_analyzed_at timestamptz,
    live_rows bigint,
    modified_rows bigint,
    in_the_way text[],
    plan text
)
language plpgsql
stable
security definer
set search_path = ''
as $$
begin
    if maintenance_plan.kind is null or maintenance_plan.kind not in ('reindex', 'analyze') then
        raise exception 'no plan for kind %', coalesce(maintenance_plan.kind, 'null')
            using errcode = '22023', hint = 'Ask for reindex or analyze.';
    end if;

    return query
    with named as (
        select
            c.oid,
            t.name,
            t.place,
            c.relkind
        from unnest(
            cortex.resolve_tables(
                tables => maintenance_plan.tables, catalogs => maintenance_plan.kind = 'analyze'
            )
        ) with ordinality as t (name, place)
        -- Not to_regclass, for which the owner of this schema may lack the right to the table's.
        join pg_catalog.pg_namespace as s on s.nspname = (parse_ident(t.name))[1]
        join pg_catalog.pg_class as c on c.relnamespace = s.oid and c.relname = (parse_ident(t.name))[2]
    ),
    work as (
        select
            n.oid,
            n.name,
            n.place,
            null::pg_catalog.text as parent
        from named as n
        where n.relkind <> 'p'
            or maintenance_plan.kind = 'analyze'
        union all
        select
            p.relation_id,
            p.relation_name,
            n.place,
            n.name
        from named as n
        cross join cortex.partition_tree(relation => n.oid) as p
        where n.relkind = 'p'
            and maintenance_plan.kind = 'reindex'
            and p.relkind = 'r'
    ),
    looked as (
        select
            w.*,
            cortex.tree_bytes(relation => w.oid) as table_bytes,
            i.bytes as index_bytes,
            i.found,
            i.counts,
            greatest(pg_stat_get_last_analyze_time(w.oid), pg_stat_get_last_autoanalyze_time(w.oid)) as analyzed,
            pg_stat_get_live_tuples(w.oid) as live,
            pg_stat_get_mod_since_analyze(w.oid) as modified,
            cortex.in_the_way(relation => w.oid, snapshots => maintenance_plan.kind = 'reindex') as waits
        from work as w
        cross join lateral (
            select
                case when count(*) = count(x.bytes) then coalesce(sum(x.bytes), 0)::bigint end as bytes,
                jsonb_agg(
                    jsonb_build_object('index', x.index_name, 'bytes', x.bytes, 'state', x.state)
                    order by x.index_name
                ) as found,
                jsonb_build_object(
                    'drop', count(*) filter (where x.state = 'leftover'),
                    'rebuild', count(*) filter (where x.state in ('valid', 'invalid')),
                    'invalid', count(*) filter (where x.state = 'invalid'),
                    'dead', count(*) filter (where x.state = 'dead'),
                    'exclusion', count(*) filter (where x.state = 'exclusion')
                ) as counts
            from cortex.table_indexes(relation => w.oid) as x
        ) as i
    )

    select
        l.name,
        l.parent,
        l.table_bytes,
        l.index_bytes,
        coalesce(l.found, '[]'),
        l.analyzed,
        l.live,
        l.modified,
        l.waits,
        case
            when maintenance_plan.kind = 'analyze' then concat_ws(
                '; ',
                'analyze',
                case
                    when l.analyzed is null then 'never analyzed as far as is known'
                    else format('%s rows modified since the last time', l.modified)
                end
            )
            else concat_ws(
                '; ',
                case when l.counts ->> 'drop' <> '0' then format('drop %s left over', l.counts ->> 'drop') end,
                case
                    when l.counts ->> 'rebuild' <> '0' then format(
                        'rebuild %s of %s indexes', l.counts ->> 'rebuild', jsonb_array_length(l.found)
                    )
                    else 'no indexes to rebuild'
                end,
                case when l.counts ->> 'invalid' <> '0' then format('%s of them invalid', l.counts ->> 'invalid') end,
                case when l.counts ->> 'dead' <> '0' then format('leave %s half dropped', l.counts ->> 'dead') end,
                case
                    when l.counts ->> 'exclusion' <> '0'
                        then format('leave %s of exclusion constraints', l.counts ->> 'exclusion')
                end
            )
        end
    from looked as l
    order by l.place, l.name;
end;
$$;

comment on function cortex.maintenance_plan(text, text[]) is
'What a reindex or analyze of the named tables, or of the usual ones, would do now, and why.';
