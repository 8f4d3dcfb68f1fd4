"""
Callers who put objects of their own in the way of ours.

A routine that runs as the owner must never run, read or believe what a caller made.
"""

import psycopg
import pytest

from tests.conftest import fresh_name
from tests.sql.asking import refused, value
from tests.sql.life import live
from tests.sql.logins import login

TRAP = """
create function {schema}."{name}"({arguments}) returns {returns} language plpgsql as $$
begin
    if current_user operator(pg_catalog.<>) session_user then
        raise exception 'trapped as %', current_user using errcode = 'TRAP1';
    end if;
    return{result};
end
$$
"""
CARELESS = """
create function public.careless() returns void language plpgsql security definer
set search_path = '' as $$
declare
    v_word text := 'a type without its schema';
begin
end
$$
"""
TYPES = """
    text uuid jsonb timestamptz interval numeric bool boolean int4 integer int8 bigint float8 name
    regclass regprocedure oid varchar json record date
"""
RELATIONS = """
    job jobs event kind settings runner runners upkeep configuration pg_locks pg_database pg_class
    pg_extension pg_roles pg_stat_activity pg_proc pg_attribute
"""
FUNCTIONS = {
    "clock_timestamp()": "timestamptz",
    "now()": "timestamptz",
    "length(text)": "integer",
    "format(text, variadic text[])": "text",
    "jsonb_typeof(jsonb)": "text",
    "pg_column_size(text)": "integer",
    "pg_notify(text, text)": "void",
    "gen_random_uuid()": "uuid",
    "current_setting(text)": "text",
    "current_setting(text, boolean)": "text",
    "set_config(text, text, boolean)": "text",
    "pg_backend_pid()": "integer",
    "pg_try_advisory_lock(integer, integer)": "boolean",
    "pg_try_advisory_xact_lock(integer, integer)": "boolean",
    "pg_advisory_lock(integer, integer)": "void",
    "pg_advisory_unlock(integer, integer)": "boolean",
    "extract(text, interval)": "numeric",
    "make_interval(float8)": "interval",
    "power(float8, float8)": "float8",
    "random()": "float8",
    "array_agg(bigint)": "bigint[]",
    "unnest(bigint[])": "setof bigint",
    "isfinite(timestamptz)": "boolean",
    "cardinality(bigint[])": "integer",
    "left(text, integer)": "text",
    "spawn_job(text)": "uuid",
}
OPERATORS = [
    ("=", "text", "text"),
    ("=", "uuid", "uuid"),
    ("=", "jsonb", "jsonb"),
    ("=", "cortex.job_status", "cortex.job_status"),
    ("<", "timestamptz", "timestamptz"),
    (">", "timestamptz", "timestamptz"),
    ("-", "timestamptz", "timestamptz"),
    ("-", "timestamptz", "interval"),
    ("!~", "text", "text"),
    ("||", "text", "text"),
    ("<=", "interval", "interval"),
    (">", "interval", "interval"),
]


@pytest.fixture(scope="module")
def hostile_url(server, template):
    """An administrator of the job system, who owns a schema of the database and nothing else."""
    name = fresh_name("hostile")
    server.create(name, template)
    with login(server, name, "cortex_admin") as url:
        user = psycopg.conninfo.conninfo_to_dict(url)["user"]
        server.execute(f'create schema authorization "{user}"', name)
        server.execute(CARELESS, name)
        yield url
    server.drop(name)


@pytest.fixture
def hostile(hostile_url):
    with psycopg.connect(hostile_url) as conn:
        yield conn
        conn.rollback()


def lay(conn, schema, name, arguments, returns):
    """Make a function that goes off when somebody else than its maker runs it."""
    result = "" if returns == "void" or returns.startswith("setof") else " null"
    conn.execute(
        TRAP.format(schema=schema, name=name, arguments=arguments, returns=returns, result=result)
    )


def lay_types(conn):
    lay(conn, "pg_temp", "trap", "anyelement", "pg_catalog.bool")
    for name in TYPES.split():
        known = value(
            conn,
            "select exists (select from pg_type where oid = to_regtype(%s) and typtype = 'b')",
            [f'pg_catalog."{name}"'],
        )
        base = f'pg_catalog."{name}"' if known else "pg_catalog.text"
        conn.execute(f'create domain pg_temp."{name}" as {base} check (pg_temp.trap(value))')


def test_would_be_noticed(hostile):
    """A trap that can't go off proves nothing."""
    lay_types(hostile)

    with refused(hostile, "TRAP1"):
        hostile.execute("select public.careless()")


def test_are_not_asked_what_their_types_check(hostile):
    """
    Temporary types come first even where the search_path is empty.

    A domain that is called like a type checks a value by any function, as whoever casts to it.
    """
    lay_types(hostile)

    live(hostile)

    assert value(hostile, "select 'text'::regtype <> 'pg_catalog.text'::regtype") is True


def test_are_not_read_from_their_tables(hostile):
    conn = hostile
    for name in RELATIONS.split():
        conn.execute(f"create temp table {name} (uuid uuid, id bigint, name text, status text)")

    live(conn)

    left = [value(conn, f"select count(*) from pg_temp.{name}") for name in RELATIONS.split()]
    assert set(left) == {0}


@pytest.mark.parametrize("schema", ["pg_temp", "user"])
def test_do_not_have_their_functions_called(hostile, schema):
    conn = hostile
    where = '"' + conn.info.user + '"' if schema == "user" else schema
    for signature, returns in FUNCTIONS.items():
        name, arguments = signature.rstrip(")").split("(", 1)
        lay(conn, where, name, arguments, returns)
    conn.execute(f"set local search_path = {where}, pg_catalog")

    live(conn)


def test_do_not_have_their_operators_used(hostile):
    conn = hostile
    where = '"' + conn.info.user + '"'
    for number, (operator, left, right) in enumerate(OPERATORS):
        returns = {"-": "interval", "||": "text"}.get(operator, "boolean")
        lay(conn, where, f"trap_{number}", f"{left}, {right}", returns)
        conn.execute(
            f"create operator {where}.{operator}"
            f" (leftarg = {left}, rightarg = {right}, function = {where}.trap_{number})"
        )
    conn.execute(f"set local search_path = {where}, pg_catalog")

    live(conn)


def test_can_not_name_another_actor_by_a_setting(hostile):
    """What an event says of a sweep is not for its caller to invent."""
    conn = hostile
    conn.execute("select set_config('cortex.actor', 'the boss', true)")
    job = value(conn, "select uuid from cortex.spawn_job('test')")
    conn.execute("select cortex.interrupt_orphans()")

    actors = "select array_agg(distinct actor) from cortex.job_events where job = %s"
    assert value(conn, actors, [job]) == [""]


def test_can_not_have_their_words_run_as_statements(hostile):
    for word in ("'; drop schema cortex cascade; --", "$$; drop schema cortex cascade; $$", '"'):
        with hostile.transaction(force_rollback=True):
            live(hostile, kind=word, text=word)

    assert value(hostile, "select count(*) from cortex.list_recent()") == 0
