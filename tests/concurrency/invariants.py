"""What must hold in the tables at any time, whatever ran at the same time; in SQL."""

from __future__ import annotations

from typing import Any

from psycopg import Connection

INVARIANTS = {
    "a job is over exactly when it says when": """
        select j.uuid from cortex.job as j
        where (j.status in ('queued', 'running')) <> (j.finished_at is null)
    """,
    "no job ends before it starts": """
        select j.uuid from cortex.job as j where j.finished_at < j.started_at
    """,
    "a running job has a start and an attempt": """
        select j.uuid from cortex.job as j
        where j.status = 'running' and (j.started_at is null or j.attempt < 1)
    """,
    "in one scope at most one job waits": """
        select j.kind, j.debounce_scope from cortex.job as j
        where j.status = 'queued' and j.debounce_scope is not null
        group by 1, 2 having count(*) > 1
    """,
    "in one scope at most one job runs, and none of mode active waits beside it": """
        select j.kind, j.debounce_scope from cortex.job as j
        where j.debounce_scope is not null
            and (j.status = 'running' or (j.status = 'queued' and j.debounce_on = 'active'))
        group by 1, 2 having count(*) > 1
    """,
    "no job is tried again unless its kind asks for it": """
        select e.job_id from cortex.event as e
        join cortex.job as j on j.id = e.job_id
        left join cortex.kind as k on k.name = j.kind
        where e.from_status in ('failed', 'interrupted') and e.to_status = 'queued'
            and (k.max_attempts is null or j.attempt > k.max_attempts)
    """,
    "in one scope no two jobs ever ran side by side": """
        with run as (
            select
                j.id, j.kind, j.debounce_scope, e.at as began,
                coalesce(
                    (select min(n.at) from cortex.event as n where n.job_id = j.id and n.id > e.id),
                    'infinity'
                ) as ended
            from cortex.event as e
            join cortex.job as j on j.id = e.job_id
            where e.to_status = 'running' and j.debounce_scope is not null
        )
        select a.id, b.id
        from run as a
        join run as b on b.kind = a.kind and b.debounce_scope = a.debounce_scope and b.id > a.id
        where b.began < a.ended and a.began < b.ended
    """,
    "every change of state is a legal one": """
        select e.job_id, e.from_status, e.to_status from cortex.event as e
        where (coalesce(e.from_status::text, ''), e.to_status::text) not in (
            ('', e.to_status::text), -- tests insert jobs in any state
            ('queued', 'running'), ('queued', 'cancelled'), ('queued', 'interrupted'),
            ('running', 'succeeded'), ('running', 'failed'), ('running', 'cancelled'),
            ('running', 'interrupted'),
            ('interrupted', 'succeeded'), ('interrupted', 'failed'), ('interrupted', 'cancelled'),
            ('failed', 'queued'), ('interrupted', 'queued') -- another attempt
        )
    """,
    "the events of a job are a chain from its spawn to its state": """
        select j.uuid
        from cortex.job as j
        left join lateral (
            select
                bool_and(c.from_status is not distinct from c.before) as linked,
                (array_agg(c.to_status order by c.id desc))[1] as last
            from (
                select e.*, lag(e.to_status) over (order by e.id) as before
                from cortex.event as e where e.job_id = j.id
            ) as c
        ) as chain on true
        where chain.linked is not true or chain.last is distinct from j.status
    """,
    "a job was started as often as its attempt says": """
        select j.uuid from cortex.job as j
        where j.attempt <> (
            select count(*) from cortex.event as e where e.job_id = j.id and e.to_status = 'running'
        )
        -- tests insert jobs that ran before
        and exists (
            select from cortex.event as e
            where e.job_id = j.id and e.from_status is null and e.to_status in ('queued', 'running')
        )
    """,
}


def assert_invariants(conn: Connection[Any]) -> None:
    """Fail, naming the rule and up to five offenders, if one is broken."""
    broken = {}
    for rule, statement in INVARIANTS.items():
        if rows := conn.execute(statement).fetchmany(5):
            broken[rule] = rows
    assert not broken


MOST_AT_ONCE = """
    select max(together)
    from (
        select sum(change) over (order by at, change, id) as together
        from (
            select e.id, e.at, 1 as change
            from cortex.event as e join cortex.job as j on j.id = e.job_id
            where j.kind = %(kind)s and e.to_status = 'running'
            union all
            select e.id, e.at, -1
            from cortex.event as e join cortex.job as j on j.id = e.job_id
            where j.kind = %(kind)s and e.from_status = 'running'
        ) as changes
    ) as history
"""


def most_at_once(conn: Connection[Any], kind: str) -> int:
    """How many jobs of a kind ever ran side by side, by their history."""
    [most] = conn.execute(MOST_AT_ONCE, {"kind": kind}).fetchone() or [None]
    return most or 0
