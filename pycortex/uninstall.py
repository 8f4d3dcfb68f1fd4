"""Take the schema out of a database again: what is ours, all of it, and nothing else."""

import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, cast

import psycopg
from psycopg import Connection, errors, sql
from psycopg.conninfo import make_conninfo

from pycortex import install, schedule
from pycortex import sql as calls
from pycortex._objects import Declared

__all__ = ["JobsActive", "NotOurs", "Uninstalled", "uninstall"]

ROLES = ("cortex_admin", "cortex_runner", "cortex_producer", "cortex_reader")
_OUR_TYPE = re.compile(r"(?<=[(, ])(?:cortex|corpus)\.\w+")
SHOWN = 10
"""Strangers that a refusal names; of the others it tells the number."""

# An object and all that goes with it under "restrict": indexes, defaults, triggers, row types.
_OURS = """
with recursive target (classid, objid) as (
    select 'pg_catalog.pg_namespace'::pg_catalog.regclass::pg_catalog.oid, n.oid
    from pg_catalog.pg_namespace as n
    where n.nspname = any(%(schemas)s::text[])
    union all
    select 'pg_catalog.pg_class'::pg_catalog.regclass, c.oid
    from pg_catalog.pg_class as c
    where c.oid = any(
        array(select pg_catalog.to_regclass(r) from pg_catalog.unnest(%(relations)s::text[]) as r)
    )
    union all
    select 'pg_catalog.pg_type'::pg_catalog.regclass, t.oid
    from pg_catalog.pg_type as t
    where t.oid = any(
        array(select pg_catalog.to_regtype(r) from pg_catalog.unnest(%(types)s::text[]) as r)
    )
    union all
    select 'pg_catalog.pg_proc'::pg_catalog.regclass, p.oid
    from pg_catalog.pg_proc as p
    where p.oid = any(
        array(
            select pg_catalog.to_regprocedure(r) from pg_catalog.unnest(%(routines)s::text[]) as r
        )
    )
),
ours (classid, objid) as (
    select t.classid, t.objid
    from target as t
    union
    select d.classid, d.objid
    from pg_catalog.pg_depend as d
    join ours as o on o.classid = d.refclassid and o.objid = d.refobjid
    where d.deptype in ('a', 'i', 'P', 'S')
)
"""

# Newest first: what was made later needs what was there before, as a rule.
_TARGETS = """
select upper(i.type), i.identity
from target as t
cross join pg_catalog.pg_identify_object(t.classid, t.objid, 0) as i
order by t.objid desc
"""

_STRANGERS = """
select distinct
    case
        when r.ev_class is not null
            then pg_catalog.pg_describe_object('pg_catalog.pg_class'::regclass, r.ev_class, 0)
        else pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid)
    end
from pg_catalog.pg_depend as d
join ours as o on o.classid = d.refclassid and o.objid = d.refobjid
left join pg_catalog.pg_rewrite as r
    on d.classid = 'pg_catalog.pg_rewrite'::regclass
    and r.oid = d.objid
where d.deptype = 'n'
    and not exists (
        select from ours as x where x.classid = d.classid and x.objid = d.objid
    )
order by 1
"""

# Whoever created a role is its member from PostgreSQL 16 on: that is no use of it.
_ROLES = """
select
    r.rolname,
    array(
        select u.rolname::text
        from pg_catalog.pg_auth_members as m
        join pg_catalog.pg_roles as u on u.oid = m.member
        where m.roleid = r.oid and u.rolname <> all (%(ours)s::text[]) and u.rolname <> current_user
        order by 1
    ),
    array(
        select distinct coalesce('database ' || d.datname, 'the server')
        from pg_catalog.pg_shdepend as s
        left join pg_catalog.pg_database as d on d.oid = s.dbid
        where s.refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass and s.refobjid = r.oid
        order by 1
    )
from pg_catalog.pg_roles as r
where r.rolname = any(%(ours)s::text[])
order by r.rolname
"""


class JobsActive(errors.ObjectInUse):
    """Jobs are queued or running, and nobody said to remove them all the same."""


class NotOurs(errors.DependentObjectsStillExist):
    """Somebody else's objects stand in our schemas, or need what is ours."""


@dataclass(frozen=True, slots=True)
class Uninstalled:
    """
    What an uninstallation did.

    Args:
        removed: What is gone, such as ``table cortex.job``; empty where nothing was installed.
        jobs: How many jobs went with it.
        active: How many of them were queued or running.
        unscheduled: Whether pg_cron had an entry of ours, which is gone too.
        left: What is still there, each with the reason.
    """

    removed: tuple[str, ...] = ()
    jobs: int = 0
    active: int = 0
    unscheduled: bool = False
    left: tuple[str, ...] = ()


def uninstall(
    target: str | Connection[Any], *, force: bool = False, dry_run: bool = False
) -> Uninstalled:
    """
    Remove whatever :func:`pycortex.install.install` put into *target*; all of it or nothing.

    The schemas cortex and corpus go with their contents: all jobs, their history, and the documents
    that were imported. So does the entry in pg_cron, where it can be reached. The four roles belong
    to the server; each goes if nobody is a member of it and it has no rights anywhere, and stays
    otherwise.

    Args:
        target: A conninfo string, or an idle connection in autocommit mode.
        force: Whether to do so although jobs are queued or running.
        dry_run: Do it, and take it back: says what would happen.

    Raises:
        JobsActive: Jobs are queued or running; 55006.
        NotOurs: There are objects of somebody else in our schemas, or they need ours; 2BP01.
        pycortex.install.InstallationBusy: An installation, or a lock, did not end in time; 55P03.
        pycortex.install.NewerSchema: A newer version of the package installed this schema; 0A000.
        psycopg.Error: Whatever the database refuses; it is as it was before.
    """
    if isinstance(target, str):
        with psycopg.connect(target, autocommit=True) as conn:
            return uninstall(conn, force=force, dry_run=dry_run)
    # In this order: what was done in another database is committed once this one is.
    with ExitStack() as afterwards, install.exclusively(target) as transaction:
        done = _uninstall(target, afterwards, force=force, dry_run=dry_run)
        if dry_run:
            raise psycopg.Rollback(transaction)
    return done


def _uninstall(
    conn: Connection[Any], afterwards: ExitStack, *, force: bool, dry_run: bool
) -> Uninstalled:
    applied = install.applied(conn)
    if applied is None:
        return Uninstalled()
    install.refuse_newer(applied)
    names = _names(conn, install.declared_objects(corpus=install.has_corpus(applied)))

    conn.execute("lock table cortex.job in access exclusive mode")
    jobs, active = conn.execute(
        "select count(*), count(*) filter (where status in ('queued', 'running')) from cortex.job"
    ).fetchone() or (0, 0)
    if active and not force:
        raise JobsActive(
            f"{active} {'job is' if active == 1 else 'jobs are'} queued or running in database"
            f" {conn.info.dbname}; wait for the end, cancel them, or remove them too by force"
        )
    strangers = [name for (name,) in conn.execute(_OURS + _STRANGERS, names)]
    if strangers:
        raise NotOurs(_refusal(strangers))

    left: list[str] = []
    unscheduled = _off_cron(conn, afterwards, left, dry_run=dry_run)
    targets = conn.execute(_OURS + _TARGETS, names).fetchall()
    _drop(conn, targets)
    _drop_roles(conn, left)
    return Uninstalled(
        removed=tuple(sorted(f"{kind.lower()} {name}" for kind, name in targets)),
        jobs=jobs,
        active=active,
        unscheduled=unscheduled,
        left=tuple(left),
    )


def _names(conn: Connection[Any], declared: Declared) -> dict[str, list[str]]:
    # A schema that is older than this package may lack a type; then it lacks what takes it, whose
    # name PostgreSQL 15 could not even parse.
    types = {name for routine in declared.routines for name in _OUR_TYPE.findall(routine)}
    lacking = {
        name
        for (name,) in conn.execute(
            "select t from unnest(%s::text[]) as t where to_regtype(t) is null", [sorted(types)]
        )
    }
    return {
        "schemas": list(declared.schemas),
        "relations": list(declared.relations),
        "types": list(declared.types),
        "routines": [
            name for name in declared.routines if lacking.isdisjoint(_OUR_TYPE.findall(name))
        ],
    }


def _refusal(strangers: Sequence[str]) -> str:
    more = f" and {len(strangers) - SHOWN} more" if len(strangers) > SHOWN else ""
    return (
        f"not ours, but in our schemas or built on what is ours: {', '.join(strangers[:SHOWN])}"
        f"{more}; drop or move them first (or, if an older version of pycortex made them, install"
        " this one before)"
    )


def _drop(conn: Connection[Any], targets: Sequence[tuple[str, str]]) -> None:
    """Drop each thing once nothing needs it any more; what others built meanwhile stops us."""
    remaining = list(targets)
    while remaining:
        needed = []
        for kind, name in remaining:
            try:
                with conn.transaction():
                    conn.execute(cast("Any", f"drop {kind} {name} restrict"))
            except errors.DependentObjectsStillExist as error:
                needed.append((kind, name))
                reason = error
        if len(needed) == len(remaining):
            raise NotOurs(_refusal([reason.diag.message_detail or str(reason)])) from reason
        remaining = needed


def _off_cron(
    conn: Connection[Any], afterwards: ExitStack, left: list[str], *, dry_run: bool
) -> bool:
    """Take our entries off pg_cron, wherever it lives; tell in *left* what couldn't be done."""
    database = conn.info.dbname
    try:
        with conn.transaction():
            entry = calls.cron_entry(conn)
            gone = calls.unschedule_maintenance(conn)
            gone = schedule.take_off_work(conn, database=database) or gone
            _name_entries_of_others(conn, conn, left)
            return gone
    except errors.FeatureNotSupported as error:
        home = error.diag.message_detail
    except errors.InsufficientPrivilege as error:
        left.append(f"the entry in pg_cron, if there is one: {error.diag.message_primary}")
        return False
    if not home:
        return False
    try:
        cron = afterwards.enter_context(
            psycopg.connect(
                make_conninfo(conn.info.dsn, password=conn.info.password or None, dbname=home)
            )
        )
        gone = schedule.take_off(cron, entry=entry, database=database)
        gone = schedule.take_off_work(cron, database=database) or gone
        _name_entries_of_others(conn, cron, left)
        if dry_run:
            cron.rollback()
    except psycopg.Error as error:
        reason = str(error.diag.message_primary or error).strip().splitlines()[-1]
        left.append(f"entry {entry!r} of pg_cron in database {home}, if there is one: {reason}")
        return False
    return gone


def _name_entries_of_others(conn: Connection[Any], cron: Connection[Any], left: list[str]) -> None:
    """Tell of entries that pg_cron shows to nobody but the role that made them."""
    if conn.execute("select to_regclass('cortex.sql_kinds')").fetchone() == (None,):
        return  # an older schema
    roles = conn.execute(
        "select distinct k.run_as from cortex.sql_kinds as k"
        " where k.run_as <> current_user order by k.run_as"
    ).fetchall()
    if cron.execute("select row_security_active('cron.job')").fetchone() == (True,):
        entry = f"cortex.work in {conn.info.dbname}"
        left += [
            f"entry {entry!r} of pg_cron, if role {role} has one: it alone sees it, and takes it"
            f" off by cron.unschedule in database {cron.info.dbname}"
            for (role,) in roles
        ]


def _drop_roles(conn: Connection[Any], left: list[str]) -> None:
    for role, members, databases in conn.execute(_ROLES, {"ours": list(ROLES)}).fetchall():
        reason = ""
        if members:
            reason = f"granted to {', '.join(members)}"
        elif databases:
            reason = f"has rights in {', '.join(databases)}"
        else:
            try:
                with conn.transaction():
                    conn.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))
            except (errors.InsufficientPrivilege, errors.DependentObjectsStillExist) as error:
                reason = error.diag.message_primary or str(error)
        if reason:
            left.append(f"role {role}: {reason}")
