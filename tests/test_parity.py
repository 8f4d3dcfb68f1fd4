"""
The symmetry of the project: one routine, one file, one test module, one typed twin, one name.

Every test collects the names of whoever breaks it.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

import pycortex.sql
from pycortex import errors, models

ROOT = Path(__file__).parent.parent
SQL = ROOT / "sql"
TESTS = ROOT / "tests"

AUDIENCES = {
    "readers": "cortex_reader",
    "producers": "cortex_producer",
    "builtin": "cortex_producer",
    "workers": "cortex_runner",
    "upkeep": "cortex_admin",
}
LADDER = ["cortex_reader", "cortex_producer", "cortex_runner", "cortex_admin"]
EXCEPTIONS = {
    "report_populate_active": "cortex_reader",  # asks, and starts nothing
    "maintain": "cortex_runner",  # every runner calls it at its beat
    "clock": "cortex_reader",  # the views call it, as whoever reads them
    "lock_space": "cortex_reader",  # so it is
    "rules": "cortex_reader",  # and this
    "attach_session": "cortex_runner",  # attach_backend calls it, as whoever attaches a session
    "cron_name": "cortex_reader",  # for whoever looks an entry up
    "maintenance_key": "cortex_runner",  # reindex and analyze call these, as their runner
    "table_indexes": "cortex_runner",
    "relation_bytes": "cortex_runner",
    "partition_tree": "cortex_runner",
    "tree_bytes": "cortex_runner",
    "analyze_table": "cortex_runner",
    "end_body": "cortex_runner",  # work calls these, as whoever works
    "fail_body": "cortex_runner",
    "kinds_to_work": "cortex_runner",
    "lost_bodies": "cortex_runner",
    "purge_cron_runs": "cortex_runner",
    "refused_commit": "cortex_runner",
    "run_analyze": "cortex_runner",
    "run_populate_report": "cortex_runner",
    "run_refresh_reports": "cortex_runner",
    "settle_bodies": "cortex_runner",
    "sql_body": "cortex_runner",
    "put_cron_entry": "cortex_admin",  # schedule_work calls these, as whoever schedules
    "require_cron": "cortex_admin",
    "take_cron_entry": "cortex_admin",
    "next_run": "cortex_admin",
    "cron_field": "cortex_admin",
    "put_sql_kind": "cortex_admin",  # and this register_sql_kind, as whoever registers
}
"""Routines whose least role isn't that of their folder."""

AS_THEIR_CALLER = {
    "attach_backend",  # only the caller is sure to see when its session began
    "register_sql_kind",  # a body is registered for the caller
    "schedule_work",  # and run as whoever scheduled that
    "unschedule_work",
}
"""Public routines that don't run as their owner."""

SECOND_SPELLINGS = {
    "cortex.register_sql_kind(text,regprocedure,text,boolean)": "cortex.register_sql_kind",
}
"""Overloads, in the file of the routine that they call: of types that aren't cast by themselves."""

OVER_VIEWS = {
    "configuration": "configuration",
    "list_activity": "job_activity",
    "list_waiting": "waiting",
    "list_events": "job_events",
    "list_kinds": "kinds",
    "list_runners": "runners",
    "list_sql_kinds": "sql_kinds",
}
"""Twins that read a view instead of calling a routine."""

ENUMS = {
    "cortex.job_status": models.JobStatus,
    "cortex.verdict": models.Verdict,
    "cortex.debounce_mode": models.DebounceMode,
    "cortex.interrupt_policy": models.InterruptPolicy,
}
ROWS_OF_VIEWS = {
    "jobs": models.Job,
    "runners": models.RunnerInfo,
    "job_events": models.JobEvent,
    "configuration": models.Configuration,
    "job_activity": models.JobActivity,
    "kinds": models.KindRules,
    "sql_kinds": models.SqlKind,
    "waiting": models.Waiting,
}
ROWS_OF_ROUTINES = {
    "spawn_job": models.Spawned,
    "keep_runner": models.RunnerJob,
    "status_counts": models.StatusCount,
    "overview": models.Overview,
    "maintain": models.Maintenance,
    "list_schedules": models.Schedule,
    "maintenance_plan": models.MaintenancePlan,
    "purge_plan": models.Expired,
    "spawn_scheduled": models.Spawned,
}

_DEFINITION = re.compile(
    r"^create or replace (function|procedure|view) (cortex|corpus)\.(\w+)", re.MULTILINE
)
_LOOSE_TYPE = re.compile(
    r"(?:::|^ +v_\w+ (?:constant )?)"
    r"(?:bool|bytea|date|float[48]|int[248]|jsonb?|name|oid|record|reg\w+|text|timestamptz|uuid)\b"
)
_BODY = re.compile(r"as \$\$\n(.*?)\$\$;", re.DOTALL)


@pytest.fixture
def catalogue(conn: psycopg.Connection[Any]) -> dict[str, dict[str, Any]]:
    """Every routine of our schemas by qualified name, with what the catalogue says of it."""
    with conn.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(
            """
            select
                p.oid,
                p.pronamespace::regnamespace || '.' || p.proname as name,
                p.oid::regprocedure::text as signature,
                p.prokind = 'p' as is_procedure,
                p.prorettype = 'trigger'::regtype as is_trigger,
                p.prosecdef as is_definer,
                p.prosrc as body,
                l.lanname as language,
                coalesce(p.proconfig, '{}') as settings,
                coalesce(p.proargnames, '{}') as names,
                p.proargmodes::text[] as modes,
                p.pronargs as inputs,
                p.pronargdefaults as defaults,
                obj_description(p.oid, 'pg_proc') as comment
            from pg_proc as p
            join pg_language as l on l.oid = p.prolang
            where p.pronamespace::regnamespace::text in ('cortex', 'corpus')
                and p.prokind <> 'a' -- made by migrations, of functions that PostgreSQL has
            """
        ).fetchall()
    return {row["name"]: row for row in rows if row["signature"] not in SECOND_SPELLINGS}


def nobody(breaks_it: Iterable[Any] | dict[str, Any]) -> None:
    """Fail, naming all of them, unless nobody does."""
    names = list(breaks_it.items() if isinstance(breaks_it, dict) else breaks_it)
    assert not names, "\n".join(str(name) for name in names)


def definitions(path: Path) -> list[tuple[str, str]]:
    """What a file defines: [("function", "cortex.step")]."""
    found = _DEFINITION.findall(path.read_text(encoding="utf-8"))
    return [(kind, f"{schema}.{name}") for kind, schema, name in found]


def files() -> dict[str, Path]:
    """The file of every routine and view, by the qualified name that it should define."""
    found = {}
    for folder in ("functions", "internal", "views", "corpus"):
        schema = "corpus" if folder == "corpus" else "cortex"
        for path in sorted((SQL / folder).rglob("*.sql")):
            found[f"{schema}.{path.stem}"] = path
    return found


def routine_files() -> dict[str, Path]:
    return {name: path for name, path in files().items() if "/views/" not in path.as_posix()}


def public_routines() -> list[str]:
    """The names, without schema, of what users call in schema cortex."""
    return sorted(path.stem for path in (SQL / "functions").rglob("*.sql"))


def audience(path: Path) -> str | None:
    """The least role that may call the routine in a file; None for helpers, which none may."""
    folder = path.parent.name if path.is_relative_to(SQL / "functions") else ""
    return EXCEPTIONS.get(path.stem) or AUDIENCES.get(folder)


def test_every_file_defines_the_one_thing_it_is_named_after():
    wrong = {
        str(path.relative_to(ROOT)): definitions(path)
        for name, path in files().items()
        if [defined for _, defined in definitions(path)]
        != [name] * (1 + list(SECOND_SPELLINGS.values()).count(name))
    }
    nobody(wrong)


def test_every_routine_has_a_file_and_every_file_a_routine(catalogue):
    assert sorted(catalogue) == sorted(routine_files())


def test_every_view_has_a_file_and_every_file_a_view(conn):
    views = conn.execute(
        "select relnamespace::regnamespace || '.' || relname from pg_class"
        " where relkind in ('v', 'm') and relnamespace::regnamespace::text in ('cortex', 'corpus')"
    ).fetchall()

    assert sorted(name for (name,) in views) == sorted(files().keys() - routine_files().keys())


def test_no_routine_is_overloaded(conn):
    doubles = conn.execute(
        "select proname, count(*) from pg_proc where pronamespace::regnamespace::text in"
        " ('cortex', 'corpus') and oid::regprocedure::text <> all(%s)"
        " group by pronamespace, proname having count(*) > 1",
        [list(SECOND_SPELLINGS)],
    ).fetchall()

    nobody(doubles)


def test_every_body_is_byte_for_byte_that_of_its_file(catalogue):
    wrong = []
    for name, path in routine_files().items():
        written = _BODY.search(path.read_text(encoding="utf-8"))
        if written is None or catalogue[name]["body"] != "\n" + written[1]:
            wrong.append(name)
    nobody(wrong)


def test_everything_is_commented(conn, catalogue):
    silent = [name for name, routine in catalogue.items() if not routine["comment"]]
    silent += [
        name
        for (name,) in conn.execute(
            """
            select c.oid::regclass::text from pg_class as c
            where c.relnamespace::regnamespace::text in ('cortex', 'corpus')
                and c.relkind in ('r', 'v', 'm', 'p')
                and obj_description(c.oid, 'pg_class') is null
            union all
            select t.oid::regtype::text from pg_type as t
            where t.typnamespace::regnamespace::text in ('cortex', 'corpus')
                and t.typtype in ('e', 'd')
                and obj_description(t.oid, 'pg_type') is null
            union all
            select n.nspname from pg_namespace as n
            where n.nspname in ('cortex', 'corpus')
                and obj_description(n.oid, 'pg_namespace') is null
            """
        )
    ]
    nobody(silent)


def test_every_index_of_schema_cortex_says_whom_it_serves(conn):
    silent = conn.execute(
        """
        select i.indexrelid::regclass::text from pg_index as i
        join pg_class as c on c.oid = i.indexrelid
        where c.relnamespace = 'cortex'::regnamespace
            and not exists (select from pg_constraint as k where k.conindid = i.indexrelid)
            and obj_description(i.indexrelid, 'pg_class') is null
        """
    ).fetchall()

    nobody(silent)


def test_every_function_pins_its_search_path(catalogue):
    loose = [
        name
        for name, routine in catalogue.items()
        if not routine["is_procedure"] and 'search_path=""' not in routine["settings"]
    ]
    nobody(loose)


def test_every_body_names_the_schema_of_its_types(catalogue):
    """
    Temporary types come first, an empty search_path or not, and a domain runs its maker's checks.

    Keywords (bigint, boolean, integer, interval, numeric, double precision) can't be shadowed.
    """
    loose = [
        (name, line.strip())
        for name, routine in catalogue.items()
        for line in routine["body"].splitlines()
        if _LOOSE_TYPE.search(line.partition("--")[0])
    ]
    nobody(loose)


def test_every_public_function_runs_as_its_owner(catalogue):
    invokers = [
        name
        for name in public_routines()
        if name not in AS_THEIR_CALLER
        and not catalogue[f"cortex.{name}"]["is_procedure"]
        and not catalogue[f"cortex.{name}"]["is_definer"]
    ]
    nobody(invokers)


def test_every_routine_may_be_called_by_its_audience_and_nobody_else(conn, catalogue):
    wrong = []
    for name, path in routine_files().items():
        if name.startswith("corpus."):
            continue
        least = audience(path)
        wanted = LADDER[LADDER.index(least) :] if least else []
        (allowed,) = conn.execute(
            "select array(select r from unnest(%s::text[]) as r"
            " where has_function_privilege(r, %s::oid, 'execute'))",
            [LADDER, catalogue[name]["oid"]],
        ).fetchone()
        if allowed != wanted:
            wrong.append((name, f"wanted {wanted}", f"allowed {allowed}"))
    nobody(wrong)


def test_nothing_is_open_to_everybody(conn):
    everybody = conn.execute(
        """
        select p.oid::regprocedure::text from pg_proc as p
        cross join aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as a
        where p.pronamespace::regnamespace::text in ('cortex', 'corpus') and a.grantee = 0
        union all
        select c.oid::regclass::text from pg_class as c
        cross join aclexplode(c.relacl) as a
        where c.relnamespace::regnamespace::text in ('cortex', 'corpus') and a.grantee = 0
        """
    ).fetchall()

    nobody(everybody)


def test_no_role_may_touch_a_table(conn):
    open_tables = conn.execute(
        """
        select r, c.oid::regclass::text from pg_class as c cross join unnest(%s::text[]) as r
        where c.relnamespace = 'cortex'::regnamespace and c.relkind in ('r', 'p')
            and has_table_privilege(r, c.oid, 'select, insert, update, delete, truncate')
        """,
        [LADDER],
    ).fetchall()

    nobody(open_tables)


def test_no_moment_is_without_its_time_zone(conn):
    naive = conn.execute(
        "select table_schema, table_name, column_name from information_schema.columns"
        " where table_schema in ('cortex', 'corpus')"
        " and data_type in ('timestamp without time zone', 'time without time zone')"
        " union all select specific_schema, specific_name, parameter_name"
        " from information_schema.parameters where specific_schema in ('cortex', 'corpus')"
        " and data_type in ('timestamp without time zone', 'time without time zone')"
    ).fetchall()

    nobody(naive)


def test_every_public_routine_has_a_test_module():
    modules = {path.stem for path in TESTS.rglob("test_*.py")}

    nobody(name for name in public_routines() if f"test_{name}" not in modules)


def test_every_public_routine_has_a_twin_with_the_same_arguments(catalogue):
    wrong = {}
    for name in public_routines():
        twin = getattr(pycortex.sql, name, None)
        if twin is None:
            wrong[name] = "no twin"
            continue
        routine = catalogue[f"cortex.{name}"]
        needed = routine["inputs"] - routine["defaults"]
        in_sql = [
            (argument, place < needed)
            for place, argument in enumerate(routine["names"][: routine["inputs"]])
        ]
        parameters = list(inspect.signature(twin).parameters.values())[1:]
        in_python = [
            (parameter.name, parameter.default is inspect.Parameter.empty)
            for parameter in parameters
        ]
        if in_python != in_sql:
            wrong[name] = f"(name, needed) in SQL {in_sql}, in Python {in_python}"
    nobody(wrong)


def test_every_twin_has_a_routine_and_is_exported(catalogue):
    strangers = [
        name
        for name in pycortex.sql.__all__
        if f"cortex.{name}" not in catalogue
        and f"corpus.{name}" not in catalogue
        and name not in OVER_VIEWS
    ]
    twins = {
        name
        for name, value in vars(pycortex.sql).items()
        if inspect.isfunction(value) and not name.startswith("_")
    }

    nobody(strangers)
    assert twins == set(pycortex.sql.__all__)


def test_the_twins_of_schema_corpus_have_the_same_arguments(catalogue):
    wrong = {}
    for name in pycortex.sql.__all__:
        routine = catalogue.get(f"corpus.{name}")
        if routine is None:
            continue
        parameters = list(inspect.signature(getattr(pycortex.sql, name)).parameters)[1:]
        if parameters != routine["names"][: routine["inputs"]]:
            wrong[name] = (routine["names"], parameters)
    nobody(wrong)


@pytest.mark.parametrize("enum", ENUMS)
def test_every_enum_has_the_same_labels_in_the_same_order(conn, enum):
    twin: type[StrEnum] = ENUMS[enum]
    labels = conn.execute(
        "select enumlabel from pg_enum where enumtypid = %s::regtype order by enumsortorder", [enum]
    ).fetchall()

    assert [label for (label,) in labels] == [member.value for member in twin]


def test_every_enum_of_schema_cortex_has_a_twin(conn):
    enums = conn.execute(
        "select typnamespace::regnamespace || '.' || typname from pg_type"
        " where typtype = 'e' and typnamespace = 'cortex'::regnamespace"
    ).fetchall()

    assert sorted(name for (name,) in enums) == sorted(ENUMS)


@pytest.mark.parametrize("view", ROWS_OF_VIEWS)
def test_the_rows_of_a_view_are_the_fields_of_its_class(conn, view):
    columns = conn.execute(
        "select attname from pg_attribute where attrelid = %s::regclass and attnum > 0"
        " order by attnum",
        [f"cortex.{view}"],
    ).fetchall()

    assert [name for (name,) in columns] == _fields(ROWS_OF_VIEWS[view])


@pytest.mark.parametrize("name", ROWS_OF_ROUTINES)
def test_the_rows_of_a_routine_are_the_fields_of_its_class(catalogue, name):
    routine = catalogue[f"cortex.{name}"]
    results = [
        column
        for column, mode in zip(routine["names"], routine["modes"], strict=True)
        if mode in "to"
    ]

    assert results == _fields(ROWS_OF_ROUTINES[name])


def test_every_sqlstate_of_ours_has_a_class_that_the_driver_raises():
    raised = set()
    for path in SQL.rglob("*.sql"):
        raised |= set(re.findall(r"errcode = '(JC\d{3})'", path.read_text(encoding="utf-8")))
    classes = {
        value.sqlstate: value
        for value in vars(errors).values()
        if isinstance(value, type)
        and issubclass(value, psycopg.DatabaseError)
        and (value.sqlstate or "").startswith("JC")
    }

    assert raised == set(classes)
    assert {code: psycopg.errors.lookup(code) for code in raised} == classes


def test_every_raise_of_a_public_routine_is_written_in_its_header():
    unsaid = []
    for path in (SQL / "functions").rglob("*.sql"):
        text = path.read_text(encoding="utf-8")
        header = text[: text.index("create or replace")]
        unsaid += [
            f"{path.stem}: {code}"
            for code in sorted(set(re.findall(r"errcode = '(\w{5})'", text)))
            if code not in header
        ]
    nobody(unsaid)


def test_every_sql_function_is_valid(conn, catalogue):
    conn.execute("set local check_function_bodies = on")

    wrong = {}
    for name, routine in catalogue.items():
        if routine["language"] != "sql":
            continue
        try:
            with conn.transaction():
                (definition,) = conn.execute(
                    "select pg_get_functiondef(%s)", [routine["oid"]]
                ).fetchone()
                conn.execute(definition)
        except psycopg.Error as error:
            wrong[name] = str(error)
    nobody(wrong)


def _fields(row: type) -> list[str]:
    return [field.name for field in dataclasses.fields(row)]
