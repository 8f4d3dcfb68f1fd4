"""The schema as installed: like its picture, and the same whichever way it was installed."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest

from pycortex.install import install, script
from tests.schema import PICTURE, dump, picture, run_tool
from tests.servers import EmbeddedServer, LocalServer, Server, Unavailable

BOOKS = "select migration_id, migration_hash from cortex._yoyo_migration order by migration_id"


@pytest.fixture(scope="module")
def embedded() -> Iterator[LocalServer]:
    try:
        opened = EmbeddedServer()
    except Unavailable as reason:
        pytest.skip(str(reason))
    yield opened
    opened.close()


@pytest.fixture(params=["main", "embedded"])
def tooled(request: pytest.FixtureRequest) -> LocalServer:
    """A server that came with psql and pg_dump: the run's own if it has them, and the embedded."""
    if request.param == "embedded":
        return request.getfixturevalue("embedded")
    main: Server = request.getfixturevalue("server")
    if isinstance(main, LocalServer) and all(
        (main.bindir / tool).exists() for tool in ("psql", "pg_dump")
    ):
        return main
    return request.getfixturevalue("embedded")


def test_looks_like_its_picture(embedded):
    url = embedded.create("picture")
    install(url)

    now = picture(embedded, url)

    assert now.splitlines() == PICTURE.read_text(encoding="utf-8").splitlines(), "run: make schema"


@pytest.mark.parametrize("corpus", [True, False])
def test_is_the_same_through_psql_as_through_python(tooled, corpus):
    python, psql = (tooled.create(f"{way}_{uuid4().hex[:8]}") for way in ("python", "psql"))

    install(python, corpus=corpus)
    run_tool(
        tooled, "psql", "--no-psqlrc", "--quiet", "--dbname", psql, stdin=script(corpus=corpus)
    )

    assert dump(tooled, psql).splitlines() == dump(tooled, python).splitlines()
    assert _rows(psql, BOOKS) == _rows(python, BOOKS)


def test_is_unchanged_by_installing_again_whichever_way(tooled):
    url = tooled.create(f"again_{uuid4().hex[:8]}")
    install(url)
    before, books = dump(tooled, url), _rows(url, BOOKS)

    run_tool(tooled, "psql", "--no-psqlrc", "--quiet", "--dbname", url, stdin=script())
    install(url)

    assert dump(tooled, url).splitlines() == before.splitlines()
    assert _rows(url, BOOKS) == books


def _rows(url: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as conn:
        return conn.execute(query).fetchall()
