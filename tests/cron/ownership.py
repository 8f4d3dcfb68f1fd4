"""An ordinary role as the owner of schema cortex, where the tests install as a superuser."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql


def hand_over(conn: psycopg.Connection[Any], role: str, login: str) -> None:
    """Make *role* the owner of everything in schema cortex."""
    name = sql.Identifier(role)
    conn.execute(sql.SQL("create role {} {}").format(name, sql.SQL(login)))
    conn.execute(sql.SQL("grant all on schema cortex to {}").format(name))
    rows = conn.execute(_ALTERS, [role, role]).fetchall()
    for (statement,) in rows:
        conn.execute(statement)


_ALTERS = """
select format('alter routine %%s owner to %%I', p.oid::regprocedure, %s::text)
from pg_proc as p where p.pronamespace = 'cortex'::regnamespace
union all
select format('alter table %%s owner to %%I', c.oid::regclass, %s::text)
from pg_class as c where c.relnamespace = 'cortex'::regnamespace and c.relkind in ('r', 'v')
"""
