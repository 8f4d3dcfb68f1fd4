"""The schema: its version, its roles, and what others did to its tables."""

import re
from collections.abc import Iterator
from typing import Any

from psycopg import Connection, errors

from pycortex._data import data_path
from pycortex.doctor._check import Check, Level, listed
from pycortex.install import pending

__all__ = ["indexes", "roles", "schema", "strangers"]

LADDER = ["cortex_reader", "cortex_producer", "cortex_runner", "cortex_admin"]
_INDEX = re.compile(r"^(create (?:unique )?|drop )index (?:cortex\.)?(\w+)(?: on cortex\.|;)", re.M)


def schema(conn: Connection[Any]) -> Check:
    """Judge whether this package and the schema go together."""
    try:
        [there, corpus] = conn.execute(
            "select to_regclass('cortex.job') is not null, to_regnamespace('corpus') is not null"
        ).fetchone() or [False, False]
    except errors.InsufficientPrivilege:
        return Check(
            "schema",
            Level.ERROR,
            f"schema cortex is closed to role {conn.info.user}",
            "grant it one of the four roles, for example: "
            f'grant cortex_reader to "{conn.info.user}"',
        )
    if not there:
        return Check(
            "schema", Level.ERROR, "pycortex isn't installed here", "run: pycortex install"
        )
    try:
        missing = pending(conn, corpus=corpus)
        [newest] = conn.execute(
            "select max(migration_id) from cortex._yoyo_migration"
        ).fetchone() or [None]
    except errors.InsufficientPrivilege:
        return Check("schema", Level.OK, "installed; its version can't be seen by this role")
    known = sorted(path.stem for path in data_path("migrations").glob("*.sql"))
    if newest not in known:
        return Check(
            "schema",
            Level.ERROR,
            f"at {newest}, newer than this package, which ends at {known[-1]}",
            "upgrade the package: pip install --upgrade pycortex-jobs",
        )
    if missing:
        return Check(
            "schema",
            Level.ERROR,
            f"at {newest}, older than this package: {', '.join(missing)} not applied",
            "run: pycortex install",
        )
    return Check("schema", Level.OK, f"at {newest}, the same as this package")


def roles(conn: Connection[Any]) -> Iterator[Check]:
    """Judge whether the four roles are there, may what they should, and which of them we are."""
    rows = conn.execute(
        "select name, to_regrole(name) is not null,"
        " case when to_regrole(name) is not null then"
        " has_function_privilege(name, 'cortex.db_now()', 'execute') end,"
        " case when to_regrole(name) is not null then pg_has_role(name, 'usage') end"
        " from unnest(%s::text[]) with ordinality as r (name, place) order by place",
        [LADDER],
    ).fetchall()
    missing = [name for name, there, _, _ in rows if not there]
    powerless = [name for name, there, may, _ in rows if there and not may]
    if missing:
        yield Check(
            "roles",
            Level.WARNING,
            f"not there: {listed(missing)}; who isn't the owner has no way in by them",
            "run pycortex install as a role that may create roles",
        )
    elif powerless:
        yield Check(
            "roles",
            Level.ERROR,
            f"without the rights that go with them here: {listed(powerless)}",
            "run: pycortex install",
        )
    else:
        ours = [name for name, _, _, member in rows if member]
        words = f"all four; {conn.info.user} acts as {ours[-1]}" if ours else "all four"
        yield Check("roles", Level.OK, words)


def indexes(conn: Connection[Any]) -> Iterator[Check]:
    """Look for indexes that don't serve: invalid, or gone."""
    invalid = conn.execute(
        "select format('%I.%I', n.nspname, c.relname), n.nspname = 'cortex' and i.indisunique"
        " from pg_index as i join pg_class as c on c.oid = i.indexrelid"
        " join pg_namespace as n on n.oid = c.relnamespace"
        " where n.nspname in ('cortex', 'corpus') and not (i.indisvalid and i.indisready)"
        " and not exists (select from pg_stat_progress_create_index as p"
        " where p.index_relid = i.indexrelid) order by 1"
    ).fetchall()
    there = {
        name
        for (name,) in conn.execute(
            "select relname from pg_class where relkind = 'i'"
            " and relnamespace = to_regnamespace('cortex')"
        )
    }
    gone = sorted(_wanted_indexes() - there)
    if gone:
        yield Check(
            "indexes",
            Level.ERROR,
            f"gone from schema cortex: {listed(gone)}",
            "make them again as the migrations do: see pycortex sql",
        )
    if invalid:
        guarantee = any(unique for _, unique in invalid)
        yield Check(
            "indexes",
            Level.ERROR if guarantee else Level.WARNING,
            f"invalid: {listed([name for name, _ in invalid])}",
            "a rebuild was cut off: reindex index concurrently NAME; of one whose name ends with"
            " _ccnew or _ccold: drop index concurrently NAME",
        )
    if not gone and not invalid:
        yield Check("indexes", Level.OK, "all there and valid")


def _wanted_indexes() -> set[str]:
    wanted: set[str] = set()
    for path in sorted(data_path("migrations").glob("*.sql")):
        for verb, name in _INDEX.findall(path.read_text(encoding="utf-8")):
            (wanted.discard if verb.startswith("drop") else wanted.add)(name)
    return wanted


def strangers(conn: Connection[Any]) -> Iterator[Check]:
    """Look for what others put on our tables: row security, triggers, rules."""
    secured = conn.execute(
        "select format('cortex.%I', relname), relforcerowsecurity from pg_class"
        " where relnamespace = to_regnamespace('cortex') and relkind in ('r', 'p')"
        " and (relrowsecurity or relforcerowsecurity) order by 1"
    ).fetchall()
    triggers = conn.execute(
        "select format('%I on cortex.%I', t.tgname, c.relname), t.tgenabled = 'D',"
        " f.pronamespace = c.relnamespace from pg_trigger as t"
        " join pg_class as c on c.oid = t.tgrelid join pg_proc as f on f.oid = t.tgfoid"
        " where c.relnamespace = to_regnamespace('cortex') and not t.tgisinternal order by 1"
    ).fetchall()
    rules = conn.execute(
        "select format('%I on cortex.%I', r.rulename, c.relname) from pg_rewrite as r"
        " join pg_class as c on c.oid = r.ev_class"
        " where c.relnamespace = to_regnamespace('cortex') and c.relkind in ('r', 'p') order by 1"
    ).fetchall()
    off = [name for name, disabled, ours in triggers if ours and disabled]
    foreign = [name for name, disabled, ours in triggers if not ours and not disabled]
    foreign += [f"rule {name}" for (name,) in rules]
    if secured:
        forced = any(force for _, force in secured)
        yield Check(
            "row security",
            Level.ERROR if forced else Level.WARNING,
            f"on {listed([name for name, _ in secured])}"
            + (", even for the owner: jobs get lost from sight" if forced else ""),
            "nobody but the owner reaches these tables anyway: alter table … no force row level"
            " security, disable row level security",
        )
    if off:
        yield Check(
            "triggers",
            Level.ERROR,
            f"switched off: {listed(off)}",
            "without them history and notifications are missing: alter table … enable trigger …",
        )
    if foreign:
        yield Check(
            "triggers",
            Level.WARNING,
            f"of somebody else: {listed(foreign)}",
            "what they refuse or change keeps jobs from moving; take them off, and read"
            " cortex.job_events or listen to cortex_jobs instead",
        )
    if not secured and not off and not foreign:
        yield Check("triggers", Level.OK, "no row security and no triggers but our own")
