"""Who may do what: every call is tried, as somebody who is logged in."""

from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from tests.conftest import fresh_name
from tests.factories import make_job
from tests.sql.asking import rows, value
from tests.sql.logins import login
from tests.test_parity import AUDIENCES, EXCEPTIONS, LADDER

SQL = Path(__file__).parents[2] / "sql"
DENIED = psycopg.errors.InsufficientPrivilege.sqlstate

LEAST = {
    file.stem: AUDIENCES[file.parent.name] for file in sorted(SQL.glob("functions/*/*.sql"))
} | EXCEPTIONS
"""The least role that may call a routine; the others are for nobody but the owner."""

VIEWS = sorted(file.stem for file in SQL.glob("views/*.sql"))
TABLES = [
    "job",
    "event",
    "runner",
    "kind",
    "settings",
    "upkeep",
    "sql_kind",
    "schedule",
    "_yoyo_migration",
    "yoyo_lock",
]


@pytest.fixture(scope="module")
def dbname(server, template):
    name = fresh_name("rights")
    server.create(name, template)
    yield name
    server.drop(name)


@pytest.fixture(scope="module", params=[*LADDER, None], ids=lambda role: role or "nobody")
def role(request):
    return request.param


@pytest.fixture(scope="module")
def session_of_role(server, dbname, role):
    with login(server, dbname, role) as url, psycopg.connect(url) as conn:
        yield conn
        conn.close()


@pytest.fixture
def session(session_of_role):
    yield session_of_role
    session_of_role.rollback()


@pytest.fixture(scope="module")
def routines(server, dbname):
    """Every routine of the schema by name, as a call in which every argument is null."""
    with server.connect(dbname) as conn:
        return {
            row["name"]: row["call"]
            for row in rows(
                conn,
                """
                select p.proname as name, format(
                    '%s cortex.%I(%s)',
                    case p.prokind when 'p' then 'call' else 'select' end,
                    p.proname,
                    (
                        select string_agg('null::' || format_type(t.oid, null), ', ' order by place)
                        from unnest(p.proargtypes) with ordinality as t (oid, place)
                    )
                ) as call
                from pg_proc as p
                where p.pronamespace = 'cortex'::regnamespace
                    and p.prorettype <> 'trigger'::regtype
                """,
            )
        }


def outcome(conn, statement):
    """The SQLSTATE with which a statement fails, or None; undone in any case."""
    try:
        with conn.transaction(force_rollback=True):
            conn.execute(statement)
    except psycopg.Error as error:
        return error.sqlstate
    return None


def may(role, least):
    return role is not None and LADDER.index(role) >= LADDER.index(least)


def test_let_each_role_call_what_is_meant_for_it_and_nothing_else(session, role, routines):
    allowed = {name for name, call in routines.items() if outcome(session, call) != DENIED}

    assert allowed == {name for name, least in LEAST.items() if may(role, least)}


def test_let_each_role_read_the_views(session, role):
    outcomes = {view: outcome(session, f"select * from cortex.{view}") for view in VIEWS}

    assert set(outcomes.values()) == ({None} if role else {DENIED})


@pytest.mark.parametrize(
    "statement",
    [
        "select * from cortex.{}",
        "select count(*) from cortex.{}",
        "delete from cortex.{}",
        "truncate cortex.{}",
        "lock cortex.{} in access share mode",
        "alter table cortex.{} add mine integer",
        "drop table cortex.{}",
        "create trigger t after insert on cortex.{} execute function unique_key_recheck()",
    ],
)
def test_let_nobody_touch_a_table(session, statement):
    outcomes = {table: outcome(session, statement.format(table)) for table in TABLES}

    assert set(outcomes.values()) == {DENIED}


@pytest.mark.parametrize("statement", ["update cortex.{} set {} = {}", "delete from cortex.{}"])
def test_let_nobody_write_through_a_view(session, statement):
    refusals = {
        view: outcome(session, statement.format(view, column, column))
        for view, column in [("jobs", "message"), ("runners", "name"), ("configuration", "keep")]
    }

    assert set(refusals.values()) <= {DENIED, "55000", "0A000"}


def test_let_nobody_make_anything_in_the_schema(session):
    made = {
        outcome(session, "create table cortex.mine ()"),
        outcome(session, "create function cortex.mine() returns int language sql as 'select 1'"),
        outcome(session, "create domain cortex.mine as int"),
        outcome(session, "select nextval('cortex.job_id_seq')"),
        outcome(session, "alter schema cortex rename to mine"),
    }

    assert made == {DENIED}


def test_let_nobody_replace_a_routine(session):
    replaced = outcome(
        session,
        "create or replace function cortex.db_now() returns timestamptz language sql"
        " as 'select now()'",
    )

    assert replaced == DENIED


def test_write_down_who_was_logged_in(server, dbname):
    with login(server, dbname, "cortex_producer") as url, psycopg.connect(url) as conn:
        job = value(conn, "select uuid from cortex.spawn_job('test', actor => 'ada')")

        events = "select actor, role from cortex.job_events where job = %s"
        assert rows(conn, events, [job]) == [{"actor": "ada", "role": conn.info.user}]
        conn.rollback()


def test_let_a_reader_close_zombies_by_listing(server, dbname):
    """Whoever may look sees the truth, and needs no right to write for it."""
    with server.connect(dbname) as owner:
        zombie = make_job(owner, "running", silent_for="3 hours")

    with login(server, dbname, "cortex_reader") as url, psycopg.connect(url) as conn:
        listed = rows(conn, "select uuid, status from cortex.list_recent()")

    assert {"uuid": zombie, "status": "interrupted"} in listed


def test_hold_for_every_sequence_table_and_routine_that_there_is(server, dbname):
    """Nothing is open to everybody, whatever is added."""
    with server.connect(dbname) as conn:
        open_to_all = rows(
            conn,
            """
            select o.what
            from (
                select relname::text as what, relacl as acl
                from pg_class where relnamespace = 'cortex'::regnamespace and relkind <> 'i'
                union all
                select proname, coalesce(proacl, acldefault('f', proowner))
                from pg_proc where pronamespace = 'cortex'::regnamespace
                union all
                select nspname, nspacl from pg_namespace where nspname = 'cortex'
            ) as o
            cross join aclexplode(o.acl) as right_of
            where right_of.grantee = 0
            """,
        )

    assert open_to_all == []


def test_pin_the_search_path_of_whatever_runs_as_the_owner(server, dbname):
    with server.connect(dbname) as conn:
        unpinned = rows(
            conn,
            "select proname from pg_proc where pronamespace = 'cortex'::regnamespace"
            " and (prosecdef or prokind <> 'p')"
            " and not coalesce('search_path=\"\"' = any(proconfig), false)",
        )

    assert unpinned == []


def test_ask_the_owner_for_rows_behind_a_policy(conn, make_job):
    """I12: who turns row security on for the table still has a job system."""
    job = make_job("running")
    conn.execute("alter table cortex.job enable row level security")

    assert value(conn, "select cortex.step(%s, 1)", [job]) == "continue"


@pytest.mark.parametrize("call", ["cortex.step(%s, 1)", "cortex.finish_job(%s, 'succeeded')"])
def test_let_a_users_trigger_that_raises_be_heard(conn, make_job, call):
    """I12: the failure is visible; nothing loops."""
    job = make_job("running")
    conn.execute(
        "create function pg_temp.mind() returns trigger language plpgsql"
        " as $$ begin raise exception 'I mind' using errcode = 'MIND1'; end $$"
    )
    conn.execute(
        "create trigger mind before update on cortex.job"
        " for each row execute function pg_temp.mind()"
    )

    with pytest.raises(psycopg.Error) as caught, conn.transaction():
        conn.execute(f"select {call}", [job])

    assert caught.value.sqlstate == "MIND1"


@pytest.mark.parametrize("role_name", ["cortex_reader", "cortex_producer"])
def test_let_a_role_be_granted_to_a_name_with_quotes(conn, role_name):
    name = "\"; drop schema cortex cascade; --'"
    conn.execute(sql.SQL("create role {}").format(sql.Identifier(name)))
    conn.execute(sql.SQL("grant {} to {}").format(sql.Identifier(role_name), sql.Identifier(name)))
    conn.execute(sql.SQL("set local role {}").format(sql.Identifier(name)))

    assert value(conn, "select count(*) from cortex.list_recent()") == 0
