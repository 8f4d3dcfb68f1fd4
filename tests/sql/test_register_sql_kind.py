"""cortex.register_sql_kind: which routine is the body of a kind, and for whom it runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import sql

import pycortex.sql
from tests.conftest import fresh_name
from tests.sql.asking import refused, rows, value
from tests.sql.bodies import ended, spawn

KINDS = "select procedure, run_as, commits from cortex.sql_kinds where kind = 'k'"
REGISTER = "select cortex.register_sql_kind('k', %s)"


@pytest.fixture(autouse=True)
def _app(request):
    if "conn" in request.fixturenames:
        conn = request.getfixturevalue("conn")
        conn.execute("create schema app")
        conn.execute("create procedure app.body(job uuid) language sql as 'select 1'")


@pytest.mark.parametrize(
    "name",
    [
        "app.body",
        "app.body(uuid)",
        " app . body ( pg_catalog.uuid ) ",
        "APP.Body(UUID)",
        '"app"."body"',
    ],
)
def test_notes_the_routine_and_the_role_that_registered_it(conn, name):
    conn.execute(REGISTER, [name])

    me = value(conn, "select current_user::text")
    assert rows(conn, KINDS) == [{"procedure": "app.body(uuid)", "run_as": me, "commits": None}]


def test_takes_what_a_regprocedure_says(conn):
    conn.execute("select cortex.register_sql_kind('k', 'app.body(uuid)'::regprocedure::text)")

    assert rows(conn, KINDS)[0]["procedure"] == "app.body(uuid)"


def test_takes_a_regprocedure_of_whatever_name_with_all_arguments(conn):
    conn.execute("set local search_path = app")
    conn.execute('create procedure "Odd ""name""(x)"(job uuid) language sql as \'select 1\'')

    conn.execute(
        "select cortex.register_sql_kind(kind => 'k', run_as => current_user::text,"
        ' procedure => \'"Odd ""name""(x)"(uuid)\'::regprocedure, commits => false)'
    )

    [row] = rows(conn, KINDS)
    assert row["procedure"] == 'app."Odd ""name""(x)"(uuid)'
    assert row["commits"] is False


@pytest.mark.parametrize(
    ("procedure", "sqlstate"),
    [
        ("null::regprocedure", "22004"),
        ("to_regprocedure('app.missing(uuid)')", "22004"),
        ("'app.wrong(integer)'::regprocedure", "42809"),
        ("1::regprocedure", "42809"),
    ],
)
def test_refuses_a_regprocedure_that_is_no_body_and_keeps_what_was_there(conn, procedure, sqlstate):
    conn.execute("create function app.wrong(n integer) returns int language sql as 'select 1'")
    conn.execute(REGISTER, ["app.body"])

    with refused(conn, sqlstate):
        conn.execute(f"select cortex.register_sql_kind('k', {procedure})")

    assert rows(conn, KINDS)[0]["procedure"] == "app.body(uuid)"


@pytest.mark.parametrize(
    "literal", ["'app.body'", "null", "'app.body'::varchar", "'app.body'::name"]
)
def test_is_not_ambiguous_for_what_is_only_quoted(conn, literal):
    conn.execute(REGISTER, ["app.body"])

    conn.execute(f"select cortex.register_sql_kind('k', {literal})")
    conn.execute(f"select cortex.register_sql_kind(kind => 'k', procedure => {literal})")

    assert len(rows(conn, KINDS)) == (0 if literal == "null" else 1)


def test_replaces_what_was_registered_before(conn):
    conn.execute("create function app.other(job uuid) returns int language sql as 'select 1'")
    conn.execute(REGISTER, ["app.body"])

    conn.execute("select cortex.register_sql_kind('k', 'app.other', commits => false)")

    assert [(r["procedure"], r["commits"]) for r in rows(conn, KINDS)] == [
        ("app.other(uuid)", False)
    ]


def test_takes_the_body_away_again(conn):
    pycortex.sql.register_sql_kind(conn, "k", "app.body")

    pycortex.sql.register_sql_kind(conn, "k", None)

    assert rows(conn, KINDS) == []
    conn.execute(REGISTER, [None])


def test_takes_a_built_in_body_away_too(conn):
    conn.execute("select cortex.register_sql_kind('analyze', null)")

    assert rows(conn, "select from cortex.sql_kinds where kind = 'analyze'") == []


@pytest.mark.parametrize("name", ['we"ird', "Odd.Name", "a(b)", "ünï", "x" * 63])
def test_takes_names_that_need_quotes(conn, name):
    conn.execute(
        sql.SQL("create function app.{}(uuid) returns int language sql as 'select 1'").format(
            sql.Identifier(name)
        )
    )
    called = value(conn, "select format('app.%%I(uuid)', %s::text)", [name])

    conn.execute(REGISTER, [called])

    assert rows(conn, KINDS)[0]["procedure"] == called


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("body", "22023"),
        ("", "22023"),
        ("app.body.more", "22023"),
        ("app.body(integer)", "22023"),
        ("app.body(); drop table cortex.job", "22023"),
        ("app.missing", "42883"),
        ("missing.body", "42883"),
        ("app.of_text", "42883"),
        ("app.many", "42809"),
        ("app.gives_out", "42809"),
        ("app.total", "42809"),
    ],
)
def test_refuses_what_is_no_body(conn, name, code):
    conn.execute("create function app.of_text(text) returns int language sql as 'select 1'")
    conn.execute("create function app.many(uuid) returns setof int language sql as 'select 1'")
    conn.execute("create procedure app.gives_out(uuid, out int) language sql as 'select 1'")
    conn.execute("create function app.pick(uuid, uuid) returns uuid language sql as 'select $1'")
    conn.execute("create aggregate app.total(uuid) (sfunc = app.pick, stype = uuid)")

    with refused(conn, code) as caught:
        conn.execute(REGISTER, [name])

    assert caught.value.diag.message_hint
    assert rows(conn, KINDS) == []


@pytest.mark.parametrize(("kind", "code"), [(None, "22004"), (" ", "22023"), ("k" * 201, "22023")])
def test_refuses_what_is_no_kind(conn, kind, code):
    with refused(conn, code):
        conn.execute("select cortex.register_sql_kind(%s, 'app.body')", [kind])


def test_refuses_a_role_that_is_not_there(conn):
    with refused(conn, "42704"):
        conn.execute("select cortex.register_sql_kind('k', 'app.body', run_as => 'nobody at all')")


# Who runs what, with whose rights


class Roles:
    """A database with an operator, an application and a stranger, each with a login of its own."""

    def __init__(self, server, dbname, names):
        self.server, self.dbname, self.names = server, dbname, names

    def connect(self, who):
        """A session of one of them."""
        url = self.server.url(self.dbname, user=self.names[who], password="secret")
        return psycopg.connect(url, autocommit=True)


@contextmanager
def roles(server, template) -> Iterator[Roles]:
    dbname = fresh_name("bodies")
    names = {who: fresh_name(who) for who in ("operator", "app", "stranger")}
    server.create(dbname, template)
    with server.connect(dbname) as conn:
        for name in names.values():
            conn.execute(
                sql.SQL(
                    "create role {0} login password 'secret'; create schema {0} authorization {0}"
                ).format(sql.Identifier(name))
            )
        conn.execute(
            sql.SQL("grant cortex_admin to {operator}, {app}").format(
                **{who: sql.Identifier(name) for who, name in names.items()}
            )
        )
        conn.execute(
            sql.SQL("grant cortex_producer to {}").format(sql.Identifier(names["stranger"]))
        )
        conn.execute("grant create on schema public to public")
    try:
        yield Roles(server, dbname, names)
    finally:
        server.drop(dbname)
        with server.connect() as conn:
            for name in names.values():
                conn.execute(
                    sql.SQL("drop owned by {0}; drop role {0}").format(sql.Identifier(name))
                )


@pytest.fixture
def world(server, template):
    with roles(server, template) as found:
        yield found


WHO = (
    "create function public.who(job uuid) returns text language sql"
    " as 'select current_user || '' '' || session_user'"
)


def test_lets_a_body_run_only_as_the_role_that_registered_it(world):
    """Neither the owner of the schema nor another operator lends its rights to somebody's code."""
    with world.connect("operator") as operator:
        operator.execute(WHO)
        operator.execute("select cortex.register_sql_kind('k', 'public.who')")
        job = spawn(operator, "k")

        with world.server.connect(world.dbname) as owner, world.connect("app") as app:
            owner.execute("call cortex.work(9)")
            app.execute("call cortex.work(9)")
            assert ended(owner, job)[0] == "queued"

        operator.execute("call cortex.work(9)")
        name = world.names["operator"]
        assert value(operator, "select result from cortex.jobs where uuid = %s", [job]) == (
            f"{name} {name}"
        )


def test_refuses_code_that_somebody_else_decides_on(world):
    with world.connect("stranger") as stranger:
        stranger.execute(WHO)
    with world.server.connect(world.dbname) as owner, world.connect("operator") as operator:
        for conn in (owner, operator):  # a superuser's rights are the last to be lent
            with refused(conn, "42501") as caught:
                conn.execute("select cortex.register_sql_kind('k', 'public.who')")
            assert world.names["stranger"] in caught.value.diag.message_primary


def test_does_not_run_what_a_stranger_puts_in_the_place_of_a_body(world):
    with world.connect("operator") as operator:
        operator.execute(WHO)
        operator.execute("select cortex.register_sql_kind('k', 'public.who')")
        operator.execute("drop function public.who(uuid)")
        with world.connect("stranger") as stranger:
            stranger.execute(WHO)
        job = spawn(operator, "k")

        operator.execute("call cortex.work(9)")

        status, message = ended(operator, job)
        assert status == "failed"
        assert message.endswith("(SQLSTATE 42501)")


def test_runs_code_of_a_role_whose_rights_one_has(world):
    group, operator_name = sql.Identifier(world.names["app"]), world.names["operator"]
    with world.server.connect(world.dbname) as owner:
        owner.execute(sql.SQL("grant {} to {}").format(group, sql.Identifier(operator_name)))
    with world.connect("app") as app, world.connect("operator") as operator:
        app.execute(WHO)

        operator.execute("select cortex.register_sql_kind('k', 'public.who')")

        job = spawn(operator, "k")
        operator.execute("call cortex.work(9)")
        assert ended(operator, job)[0] == "succeeded"


def test_registers_for_a_role_that_the_login_may_act_as_and_no_other(world):
    with world.connect("app") as app, world.server.connect(world.dbname) as owner:
        app.execute(WHO)
        owner.execute(
            "select cortex.register_sql_kind('k', 'public.who', run_as => %s)", [world.names["app"]]
        )
        with world.connect("operator") as operator, refused(operator, "42501"):
            operator.execute(
                "select cortex.register_sql_kind('k', 'public.who', run_as => %s)",
                [world.names["app"]],
            )

        job = spawn(app, "k")
        app.execute("call cortex.work()")
        assert ended(app, job)[0] == "succeeded"


def test_is_not_talked_into_another_role_by_the_routine_behind_it(world):
    with world.connect("operator") as operator, refused(operator, "42501"):
        operator.execute(
            "select cortex.put_sql_kind('k', 'cortex', 'run_analyze', 'postgres', null)"
        )


def test_refuses_a_body_that_the_role_may_not_call(world):
    with world.connect("operator") as operator:
        operator.execute(WHO)
        operator.execute("revoke execute on function public.who(uuid) from public")
        operator.execute(
            sql.SQL("revoke execute on function public.who(uuid) from {}").format(
                sql.Identifier(world.names["operator"])
            )
        )
        with refused(operator, "42501"):
            operator.execute("select cortex.register_sql_kind('k', 'public.who')")


def test_is_for_operators_and_runners_only(world):
    """A producer can neither register a body nor work; only ask for a job."""
    with world.connect("stranger") as conn:
        for statement in (
            "select cortex.register_sql_kind('k', 'public.who')",
            "select cortex.put_sql_kind('k', 'public', 'who', 'postgres', null)",
            "call cortex.work()",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute(statement)


def test_runs_with_no_more_rights_than_its_role_has(world):
    with world.connect("operator") as operator:
        operator.execute(
            "create function public.pry(job uuid) returns bigint language plpgsql"
            " as $$ begin return (select count(*) from cortex.job); end $$"
        )
        operator.execute("select cortex.register_sql_kind('k', 'public.pry')")
        job = spawn(operator, "k")

        operator.execute("call cortex.work()")

        assert ended(operator, job) == (
            "failed",
            "permission denied for table job (SQLSTATE 42501)",
        )


HOSTILE = """
create function public.bad() returns void language plpgsql
    as $$ begin create table if not exists public.caught (); end $$;
create function public.int4_less(integer, integer) returns boolean language plpgsql
    as $$ begin perform public.bad(); return $1 operator(pg_catalog.<) $2; end $$;
create operator public.< (leftarg = integer, rightarg = integer, function = public.int4_less);
create function public.text_same(text, text) returns boolean language plpgsql
    as $$ begin perform public.bad(); return $1 operator(pg_catalog.=) $2; end $$;
create operator public.= (leftarg = text, rightarg = text, function = public.text_same);
create function public.set_config(text, text, boolean) returns text language plpgsql
    as $$ begin perform public.bad(); return ''; end $$;
create function public.pg_backend_pid() returns integer language plpgsql
    as $$ begin perform public.bad(); return 1; end $$;
create function public.concat_ws(text, text, text) returns text language plpgsql
    as $$ begin perform public.bad(); return ''; end $$;
"""


@pytest.mark.parametrize(
    "path", ["public, pg_catalog", "public", "pg_temp, public, pg_catalog", ""]
)
def test_is_led_astray_by_no_search_path(world, path):
    """Not the work itself, and not a body that says no schema."""
    with world.connect("stranger") as stranger:
        stranger.execute(HOSTILE)
    with world.connect("operator") as operator:
        operator.execute(
            "create procedure public.body(job uuid) language plpgsql as $$ begin"
            " if 1 < 2 and pg_backend_pid() > 0 then perform pg_sleep(0); end if; end $$"
        )
        operator.execute(
            "create procedure public.commits(job uuid) language plpgsql as $$ begin"
            " commit; if 1 < 2 and pg_backend_pid() > 0 then perform pg_sleep(0); end if; end $$"
        )
        operator.execute("select cortex.register_sql_kind('body', 'public.body')")
        operator.execute("select cortex.register_sql_kind('commits', 'public.commits')")
        jobs = [spawn(operator, kind) for kind in ("body", "commits")]
        operator.execute("select pg_catalog.set_config('search_path', %s, false)", [path])

        operator.execute("call cortex.work(9)")

        operator.execute("reset search_path")
        assert [ended(operator, job)[0] for job in jobs] == ["succeeded"] * 2
        assert value(operator, "select to_regclass('public.caught')") is None


def test_is_led_astray_by_nothing_temporary(world):
    with world.connect("operator") as operator:
        operator.execute(WHO)
        operator.execute("select cortex.register_sql_kind('k', 'public.who')")
        operator.execute(
            "create domain pg_temp.uuid as pg_catalog.text check (pg_catalog.length(value) < 5)"
        )
        operator.execute("create temp table pg_class (i integer)")
        job = spawn(operator, "k")

        operator.execute("call cortex.work()")

        assert ended(operator, job)[0] == "succeeded"
