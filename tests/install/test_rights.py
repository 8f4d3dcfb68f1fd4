"""Installing with few rights: as an ordinary role, into a schema made for it, without new roles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from psycopg import Connection, errors, sql

from pycortex.install import install, pending
from tests.conftest import fresh_name
from tests.install.catalogue import catalogue
from tests.servers import LocalServer, Server, Unavailable, own_server

PASSWORD = "pycortex"
LADDER = ["cortex_reader", "cortex_producer", "cortex_runner", "cortex_admin"]


@dataclass(frozen=True)
class Place:
    """An empty database that somebody else owns, and a login role without any rights in it."""

    server: Server
    database: str
    role: str
    owner: Connection[Any]

    @property
    def url(self) -> str:
        return self.server.url(self.database, user=self.role, password=PASSWORD)

    def grant(self, statement: str) -> None:
        self.owner.execute(
            sql.SQL(statement).format(
                database=sql.Identifier(self.database), role=sql.Identifier(self.role)
            )
        )


def make_place(server: Server) -> Iterator[Place]:
    with server.connect() as conn:
        [may] = conn.execute(
            "select rolsuper from pg_catalog.pg_roles where rolname = current_user"
        ).fetchone()
    if not may:
        pytest.skip("the role of PYCORTEX_TEST_DSN is no superuser, and can't make others' things")
    database, role = fresh_name("place"), fresh_name("ordinary")
    server.create(database)
    with server.connect(database) as owner:
        owner.execute(
            sql.SQL("create role {} login password {} nosuperuser nocreaterole nocreatedb").format(
                sql.Identifier(role), sql.Literal(PASSWORD)
            )
        )
        owner.execute("revoke all on schema public from public")
        yield Place(server, database, role, owner)
    server.drop(database)
    server.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))


@pytest.fixture
def place(server: Server) -> Iterator[Place]:
    yield from make_place(server)


@pytest.fixture(scope="module")
def lonely_server() -> Iterator[LocalServer]:
    """A server in which the four roles aren't there."""
    try:
        opened = own_server()
    except Unavailable as reason:
        pytest.skip(str(reason))
    yield opened
    opened.close()


@pytest.fixture
def lonely_place(lonely_server: LocalServer) -> Iterator[Place]:
    yield from make_place(lonely_server)


def run_a_job(conn: Connection[Any]) -> str:
    """The life of one job, as the owner of the schema; how it ended."""
    conn.execute("select cortex.spawn_job('test', debounce_scope => '{}')")
    [runner] = conn.execute("select cortex.register_runner('test', 'test.invalid', 1)").fetchone()
    [[job, attempt]] = conn.execute(
        "select uuid, attempt from cortex.claim_jobs(%s, array['test'])", [runner]
    ).fetchall()
    conn.execute("select cortex.step(%s, 1, attempt => %s)", [job, attempt])
    conn.execute("select cortex.keep_runner(%s)", [runner])
    conn.execute("select cortex.finish_job(%s, 'succeeded', attempt => %s)", [job, attempt])
    conn.execute("select cortex.maintain()")
    conn.execute("select cortex.retire_runner(%s)", [runner])
    [[status]] = conn.execute("select status from cortex.list_recent()").fetchall()
    return str(status)


def as_ordinary(place: Place, act: Callable[[Connection[Any]], Any]) -> Any:
    with psycopg.connect(place.url, autocommit=True) as conn:
        [superuser] = conn.execute(
            "select rolsuper from pg_roles where rolname = current_user"
        ).fetchone()
        assert not superuser
        return act(conn)


def test_needs_no_more_than_create_on_the_database(place):
    """Case I10."""
    place.grant("grant create on database {database} to {role}")

    first = install(place.url)
    again = install(place.url)

    assert first.applied
    assert again.applied == ()
    assert as_ordinary(place, run_a_job) == "succeeded"


def test_needs_no_right_on_the_database_where_a_schema_was_made_for_it(place):
    place.grant("create schema cortex authorization {role}")

    first = install(place.url, corpus=False)
    again = install(place.url, corpus=False)

    assert first.applied
    assert again.applied == ()
    assert as_ordinary(place, lambda conn: pending(conn, corpus=False)) == []
    assert as_ordinary(place, run_a_job) == "succeeded"


def test_says_which_right_is_missing_and_changes_nothing(place):
    before = catalogue(place.owner)

    with pytest.raises(errors.InsufficientPrivilege) as caught:
        install(place.url)

    assert place.database in str(caught.value)
    assert catalogue(place.owner) == before


def test_installs_all_or_nothing_where_only_the_corpus_may_not_be_made(place):
    place.grant("create schema cortex authorization {role}")
    before = catalogue(place.owner)

    with pytest.raises(errors.InsufficientPrivilege):
        install(place.url)

    assert catalogue(place.owner) == before


def test_does_not_take_over_what_somebody_else_installed(place):
    install(place.server.url(place.database))
    place.grant("grant create on database {database} to {role}")
    before = catalogue(place.owner)

    with pytest.raises(errors.InsufficientPrivilege):
        install(place.url)

    assert catalogue(place.owner) == before


def test_leaves_the_owner_of_a_schema_its_owner_when_a_superuser_installs_again(place):
    place.grant("grant create on database {database} to {role}")
    install(place.url)
    owners = """
        select distinct pg_get_userbyid(c.relowner) from pg_class as c
        where c.relnamespace = 'cortex'::regnamespace
    """

    install(place.server.url(place.database))

    assert place.owner.execute(owners).fetchall() == [(place.role,)]
    assert as_ordinary(place, run_a_job) == "succeeded"


def test_works_where_the_roles_can_not_be_made(lonely_place):
    """Only the owner can call then, and grants what it wants."""
    lonely_place.grant("grant create on database {database} to {role}")

    install(lonely_place.url)

    roles = lonely_place.owner.execute(
        "select rolname from pg_roles where rolname = any(%s)", [LADDER]
    ).fetchall()
    public = lonely_place.owner.execute(
        "select p.proname from pg_proc as p cross join aclexplode(p.proacl) as a"
        " where p.pronamespace = 'cortex'::regnamespace and a.grantee = 0"
    ).fetchall()
    assert roles == []
    assert public == []
    assert as_ordinary(lonely_place, run_a_job) == "succeeded"


def test_grants_to_the_roles_once_somebody_made_them(lonely_place):
    lonely_place.grant("grant create on database {database} to {role}")
    install(lonely_place.url)
    for role in LADDER:
        lonely_place.owner.execute(f"create role {role}")

    install(lonely_place.url)

    lonely_place.owner.execute("set role cortex_runner")
    lonely_place.owner.execute("select cortex.spawn_job('test')")
    with pytest.raises(errors.InsufficientPrivilege):
        lonely_place.owner.execute("select cortex.reap_stale()")
    lonely_place.owner.execute("reset role")
    lonely_place.owner.execute(sql.SQL("drop owned by {}").format(sql.SQL(", ".join(LADDER))))
    for role in LADDER:
        lonely_place.owner.execute(f"drop role {role}")


def test_the_roles_that_run_jobs_need_no_right_on_the_books(place):
    """Case M10."""
    install(place.server.url(place.database))
    place.grant("grant cortex_runner to {role}")

    with psycopg.connect(place.url, autocommit=True) as conn:
        conn.execute("select cortex.spawn_job('test')")
        [runner] = conn.execute("select cortex.register_runner('t', 'h', 1)").fetchone()
        claimed = conn.execute("select uuid from cortex.claim_jobs(%s, array['test'])", [runner])

        assert len(claimed.fetchall()) == 1
        with pytest.raises(errors.InsufficientPrivilege):
            conn.execute("select * from cortex._yoyo_migration")
