"""What maintenance asks the database, beside the statements that do the work."""

from __future__ import annotations

__all__ = [
    "BY_NAME",
    "BY_OID",
    "HOLDER",
    "INCOMPLETE",
    "IN_THE_WAY",
    "KEY",
    "LEAVES",
    "LIMITS",
    "LOOK",
    "TAKE",
    "UNBIND",
    "UNLOCK",
]

BY_NAME = """
select c.oid, n.nspname, c.relname, c.relkind
from pg_catalog.pg_class as c
join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
where array[n.nspname::text, c.relname::text] = parse_ident(%s)
"""

BY_OID = """
select n.nspname, c.relname
from pg_catalog.pg_class as c
join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
where c.oid = %s
"""

# The tables below a partitioned one that hold rows of their own; foreign ones have no indexes here.
LEAVES = """
select t.relation_name
from cortex.partition_tree(%s) as t
where t.relkind = 'r'
order by t.relation_name
"""

LIMITS = """
select s.name, current_setting(s.name), s.setting::bigint
from pg_catalog.pg_settings as s
where s.name in ('lock_timeout', 'statement_timeout')
"""

KEY = "select cortex.maintenance_key(%s)"
# The second came with PostgreSQL 17.
UNBIND = """
select set_config(s.name, '0', false)
from pg_catalog.pg_settings as s
where s.name in ('statement_timeout', 'transaction_timeout')
"""

TAKE = "select pg_try_advisory_lock(cortex.lock_space(), %s::integer)"
UNLOCK = "select pg_advisory_unlock(cortex.lock_space(), %s::integer)"

# Invalid until each partition has its part; there is nothing to rebuild.
INCOMPLETE = """
select format('%%I.%%I', n.nspname, c.relname)
from cortex.partition_tree(%s) as t
join pg_catalog.pg_index as x on x.indrelid = t.relation_id and not x.indisvalid
join pg_catalog.pg_class as c on c.oid = x.indexrelid and c.relkind = 'I'
join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
order by 1
"""

_WORDS = """
format(
    'session %%s (%%s)',
    a.pid,
    concat_ws(
        ', ',
        coalesce(nullif(a.application_name, ''), nullif(a.backend_type, 'client backend')),
        case
            when a.state is null then null
            when a.xact_start is null then a.state
            else concat_ws(
                ' ',
                a.state,
                to_char(a.xact_start at time zone 'UTC', '"since" YYYY-MM-DD HH24:MI:SS "UTC"')
            )
        end
    )
)
"""

HOLDER = f"""
select {_WORDS}
from pg_catalog.pg_locks as l
join pg_catalog.pg_stat_activity as a on a.pid = l.pid
where l.locktype = 'advisory'
    and l.granted
    and l.database = (
        select d.oid from pg_catalog.pg_database as d where d.datname = current_database()
    )
    and l.classid = cortex.lock_space()::bigint::oid
    and l.objid = (%s::bigint & 4294967295)::oid
    and l.objsubid = 2
"""  # noqa: S608 - our own words

# Who holds a lock on the table; if nobody does, who has the oldest transaction, for which a REINDEX
# or the drop of an index waits too.
IN_THE_WAY = f"""
select {_WORDS}
from pg_catalog.pg_stat_activity as a
left join pg_catalog.pg_locks as l
    on l.pid = a.pid and l.relation = %(oid)s and l.granted and l.locktype = 'relation'
where a.datname = current_database()
    and a.pid <> all(%(ours)s::int[])
    and (l.pid is not null or a.xact_start is not null)
order by l.pid is null, a.xact_start
limit 1
"""  # noqa: S608 - our own words

# What a session waits for at this moment, if it waits for a lock.
LOOK = f"""
select case b.pid when 0 then 'a prepared transaction' else {_WORDS} end
from pg_catalog.pg_stat_activity as w
cross join unnest(case when w.wait_event_type = 'Lock' then pg_blocking_pids(w.pid) end) as b (pid)
left join pg_catalog.pg_stat_activity as a on a.pid = b.pid
where w.pid = %s
order by a.xact_start
limit 1
"""  # noqa: S608 - our own words
