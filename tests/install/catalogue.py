"""What an installation consists of, as the catalogue sees it; to compare two moments."""

from __future__ import annotations

from typing import Any

from psycopg import Connection

_OBJECTS = """
select
    c.relkind::text,
    format('%I.%I', n.nspname, c.relname),
    (
        select array_agg(
            format('%s %s %s %s', a.attnum, a.attname, a.atttypid::regtype, a.attnotnull)
            order by a.attnum
        )
        from pg_attribute as a
        where a.attrelid = c.oid and a.attnum > 0
    )::text,
    coalesce(c.relacl::text, '')
    || case when c.relkind = 'v' then md5(pg_get_viewdef(c.oid)) else '' end
from pg_class as c
join pg_namespace as n on n.oid = c.relnamespace
where n.nspname in ('cortex', 'corpus')
union all
select
    'routine',
    p.oid::regprocedure::text,
    case when p.prokind <> 'a' then md5(pg_get_functiondef(p.oid)) end,
    coalesce(p.proacl::text, '')
from pg_proc as p
join pg_namespace as n on n.oid = p.pronamespace
where n.nspname in ('cortex', 'corpus')
union all
select
    'constraint',
    format('%s %s', k.conrelid::regclass, k.conname),
    pg_get_constraintdef(k.oid),
    ''
from pg_constraint as k
join pg_namespace as n on n.oid = k.connamespace
where n.nspname in ('cortex', 'corpus')
union all
select
    'trigger',
    format('%s %s', t.tgrelid::regclass, t.tgname),
    pg_get_triggerdef(t.oid),
    ''
from pg_trigger as t
where not t.tgisinternal
union all
select
    'type',
    t.oid::regtype::text,
    coalesce(array_agg(e.enumlabel order by e.enumsortorder)::text, ''),
    ''
from pg_type as t
join pg_namespace as n on n.oid = t.typnamespace
left join pg_enum as e on e.enumtypid = t.oid
where n.nspname in ('cortex', 'corpus')
group by t.oid
union all
select 'schema', n.nspname, coalesce(n.nspacl::text, ''), ''
from pg_namespace as n
where n.nspname !~ '^pg_'
order by 1, 2
"""
_BOOKS = "select migration_id from cortex._yoyo_migration order by migration_id"


def catalogue(conn: Connection[Any]) -> list[tuple[str, ...]]:
    """All in schemas cortex and corpus with its definition, and the schemas that there are."""
    with conn.transaction():
        # So that names are written the same way.
        conn.execute("set local search_path = ''")
        conn.execute("set local quote_all_identifiers = off")
        return [tuple(row) for row in conn.execute(_OBJECTS)]


def books(conn: Connection[Any]) -> list[str]:
    """The migrations that were applied, each as often as it stands there."""
    return [name for (name,) in conn.execute(_BOOKS)]
