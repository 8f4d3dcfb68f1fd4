"""What a reindex or analyze would do, looked at and shown, without doing it."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg import Connection, sql

from pycortex.cli._output import print_json, say
from pycortex.cli._table import Column, print_table
from pycortex.models import MaintenancePlan
from pycortex.sql import maintenance_plan

__all__ = ["print_plan"]

FRESH = 90
"""Percent of a page that a fresh B-tree index fills, unless it was made with another fillfactor."""

PATIENCE = 10_000
"""Milliseconds that measuring one index may take."""

_INSTALLED = """
select n.nspname
from pg_catalog.pg_extension as e
join pg_catalog.pg_namespace as n on n.oid = e.extnamespace
join pg_catalog.pg_proc as p on p.pronamespace = n.oid and p.proname = 'pgstatindex'
where e.extname = 'pgstattuple'
    and p.proargtypes[0] = 'regclass'::regtype
    and has_schema_privilege(n.oid, 'usage')
    and has_function_privilege(p.oid, 'execute')
"""

_MEASURE = sql.SQL("""
select (s.index_size * greatest(1 - s.avg_leaf_density / coalesce(
    (
        select o.option_value::double precision
        from pg_options_to_table(c.reloptions) as o
        where o.option_name = 'fillfactor'
    ),
    {fresh}
), 0))::bigint
from pg_catalog.pg_class as c
join pg_catalog.pg_am as m on m.oid = c.relam and m.amname = 'btree'
cross join {schema}.pgstatindex(c.oid::regclass) as s
where c.oid = to_regclass({index})
    and s.avg_leaf_density <> 'NaN'
""")


def print_plan(conn: Connection[Any], kind: str, tables: Sequence[str], *, as_json: bool) -> None:
    """Print one line, or one object, per table; nothing is changed and no job made."""
    plans = maintenance_plan(conn, kind, tables=list(tables) or None)
    bloat = _measure(conn, plans) if kind == "reindex" else {}
    if as_json:
        print_json([_object(plan, bloat) for plan in plans])
        return
    columns = [Column("TABLE", least=16), Column("SIZE", right=True, drop=2)]
    columns.append(Column("INDEXES", right=True, drop=1))
    if bloat:
        columns.append(Column("BLOAT", right=True, drop=3))
    columns += [Column("PLAN", least=16), Column("IN THE WAY", least=10)]
    print_table(columns, [_cells(plan, bloat) for plan in plans])
    for plan in plans:
        for index in plan.indexes:
            if index["state"] != "valid":
                say(f"{index['index']} is {WORDS[index['state']]}")
    _say_active(conn, kind)


WORDS = {
    "invalid": "invalid: it is made anew",
    "leftover": "left over from a rebuild that failed: it is dropped",
    "dead": "half dropped: it is left so, DROP INDEX CONCURRENTLY ends it",
    "exclusion": "an exclusion constraint's: PostgreSQL can't rebuild it online",
}


def _cells(plan: MaintenancePlan, bloat: dict[str, int]) -> list[str]:
    cells = [plan.table_name, _size(plan.table_bytes), _size(plan.index_bytes)]
    if bloat:
        known = [bloat[index["index"]] for index in plan.indexes if index["index"] in bloat]
        cells.append(_size(sum(known)) if known else "")
    return [*cells, plan.plan, "; ".join(plan.in_the_way)]


def _object(plan: MaintenancePlan, bloat: dict[str, int]) -> dict[str, Any]:
    told = {field.name: getattr(plan, field.name) for field in dataclasses.fields(plan)}
    told["indexes"] = [
        {**index, "bloat_bytes": bloat.get(index["index"])} for index in plan.indexes
    ]
    return told


def _measure(conn: Connection[Any], plans: Sequence[MaintenancePlan]) -> dict[str, int]:
    """Estimate what a rebuild would give back, where pgstattuple is there and may be used."""
    found = conn.execute(_INSTALLED).fetchone()
    if found is None:
        return {}
    measured: dict[str, int] = {}
    for index in (index for plan in plans for index in plan.indexes):
        query = _MEASURE.format(
            fresh=sql.Literal(FRESH),
            schema=sql.Identifier(found[0]),
            index=sql.Literal(index["index"]),
        )
        try:
            with conn.transaction():
                for name in ("statement_timeout", "lock_timeout"):
                    conn.execute("select set_config(%s, %s, true)", [name, str(PATIENCE)])
                row = conn.execute(query).fetchone()
        except psycopg.Error:  # too large to be read in that time, locked, invalid, or gone
            continue
        if row is not None:
            measured[index["index"]] = row[0]
    return measured


def _say_active(conn: Connection[Any], kind: str) -> None:
    row = conn.execute(
        "select uuid, status from cortex.jobs where kind = %s and debounce_scope = '{}'"
        " and status in ('queued', 'running') limit 1",
        [kind],
    ).fetchone()
    if row is not None:
        say(f"job {row[0]} of this kind is {row[1]}: without --dry-run this would follow that one")


def _size(number: int | None) -> str:
    if number is None:
        return "locked"
    size = float(number)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
