"""From one version of the schema to the next, made up here, and clients that are older or newer."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg import errors

from pycortex import JobStatus, Runner, Verdict, _data, sql
from pycortex.install import OlderSchema, check_version, install, pending, script
from tests.conftest import fresh_name
from tests.factories import make_job
from tests.install.catalogue import catalogue
from tests.schema import dump, run_tool
from tests.servers import EmbeddedServer, LocalServer, Server, Unavailable

MIGRATION = "9000.label-jobs"
NOW = max(path.stem for path in _data.data_path("migrations").glob("*.sql"))
OLD_STEP = "uuid, bigint, bigint, text, integer"
DROP = f"drop function if exists cortex.step({OLD_STEP});"
"""In a fresh database migrations run before there are any routines."""

Next = Callable[[], AbstractContextManager[None]]


@pytest.fixture(scope="module")
def tooled(server: Server) -> Iterator[LocalServer]:
    """A server that came with psql and pg_dump: the run's own, or else the embedded."""
    if isinstance(server, LocalServer) and (server.bindir / "pg_dump").exists():
        yield server
        return
    try:
        opened = EmbeddedServer()
    except Unavailable as reason:
        pytest.skip(str(reason))
    yield opened
    opened.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Our files as the next version has them: a column more, in a view too, and step takes it."""
    for name in ("sql", "migrations"):
        shutil.copytree(_data.data_path(name), tmp_path / name)
    (tmp_path / "migrations" / f"{MIGRATION}.sql").write_text(
        "alter table cortex.job add column label text not null default '';\n"
        "comment on column cortex.job.label is 'What the job is about now.';\n"
        f"{DROP}\n"
    )
    edit(
        tmp_path / "sql" / "functions" / "workers" / "step.sql",
        (
            "    attempt integer default null\n)",
            "    attempt integer default null,\n    label text default ''\n)",
        ),
        (f"cortex.step({OLD_STEP})", f"cortex.step({OLD_STEP}, text)"),
        ("        updated_at = clock", "        label = step.label,\n        updated_at = clock"),
    )
    edit(
        tmp_path / "sql" / "views" / "jobs.sql",
        ("    j.cancel_requested_by\nfrom", "    j.cancel_requested_by,\n    j.label\nfrom"),
    )
    return tmp_path


@pytest.fixture
def next_version(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Next:
    """Within `with next_version():` this package is the next version."""

    @contextmanager
    def be_it() -> Iterator[None]:
        with monkeypatch.context() as patch:
            for name in ("sql", "migrations"):
                patch.setitem(_data._HOMES, name, str(folder / name))
            yield

    return be_it


def edit(path: Path, *changes: tuple[str, str]) -> None:
    text = path.read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) == 1, f"{path.name} has changed; this test edits: {old}"
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


def test_an_upgraded_database_is_like_a_fresh_one(tooled, next_version):
    upgraded, fresh = (tooled.create(fresh_name(name)) for name in ("upgraded", "fresh"))
    install(upgraded)

    with next_version():
        done = install(upgraded)
        install(fresh)

    assert done.applied == (MIGRATION,)
    assert "label text" in dump(tooled, fresh)
    assert dump(tooled, upgraded).splitlines() == dump(tooled, fresh).splitlines()


def test_psql_upgrades_to_the_same(tooled, next_version):
    python, psql = (tooled.create(fresh_name(name)) for name in ("python", "psql"))
    install(python)
    install(psql)

    with next_version():
        install(python)
        run_tool(tooled, "psql", "--no-psqlrc", "--quiet", "--dbname", psql, stdin=script())
        with psycopg.connect(psql) as conn:
            assert pending(conn) == []

    assert dump(tooled, psql).splitlines() == dump(tooled, python).splitlines()


def test_a_running_job_goes_on_over_an_upgrade(committed, next_version):
    conn = committed.conn
    job = make_job(conn, "running", attempt=1)

    with next_version():
        install(conn)
    verdict = sql.step(conn, job, 3, 9, attempt=1)
    finished = sql.finish_job(conn, job, "succeeded", attempt=1)

    assert (verdict, finished) == (Verdict.CONTINUE, True)


def test_an_older_client_works_on_a_newer_schema_and_says_both_versions(
    database, next_version, caplog
):
    """Case M13: what an older client calls stays for a release."""
    with next_version():
        install(database)

    with caplog.at_level(logging.WARNING, "pycortex"), Runner(database) as runner:
        handle = runner.spawn("test", lambda progress: progress.step(1, 1))
        job = handle.wait(timeout=30)

    assert job.status is JobStatus.SUCCEEDED
    [told] = [record.getMessage() for record in caplog.records if "newer" in record.getMessage()]
    assert MIGRATION in told
    assert NOW in told


def test_a_newer_runner_refuses_an_older_schema_and_says_both_versions(database, next_version):
    """Case M13: no half-working state."""
    runner = Runner(database)

    with next_version(), pytest.raises(OlderSchema) as caught:
        runner.start()

    assert MIGRATION in str(caught.value)
    assert NOW in str(caught.value)
    with psycopg.connect(database) as conn:
        assert conn.execute("select count(*) from cortex.runners").fetchone() == (0,)


def test_a_newer_client_refuses_a_schema_that_can_not_tell_its_version(committed):
    committed.conn.execute("drop function cortex.schema_version()")

    with pytest.raises(OlderSchema):
        check_version(committed.conn)


def test_a_client_needs_no_right_to_ask(server, committed):
    """Case M10: where roles can't be created, the owner may have granted only what is called."""
    role = fresh_name("bare")
    committed.conn.execute(f"create role {role} login")
    try:
        committed.conn.execute(f"grant usage on schema cortex to {role}")
        with psycopg.connect(
            server.url(committed.conn.info.dbname, user=role), autocommit=True
        ) as conn:
            check_version(conn)
    finally:
        committed.conn.execute(f"drop owned by {role}; drop role {role}")


def test_a_client_does_not_need_the_newest_corpus(empty_database):
    with psycopg.connect(empty_database, autocommit=True) as conn:
        install(conn, corpus=False)

        check_version(conn)


def test_a_changed_signature_leaves_no_second_routine(committed, next_version):
    with next_version():
        install(committed.conn)

    assert committed.conn.execute(
        "select oid::regprocedure::text from pg_proc"
        " where proname = 'step' and pronamespace = 'cortex'::regnamespace"
    ).fetchall() == [(f"cortex.step({OLD_STEP},text)".replace(", ", ","),)]


def test_an_ambiguous_overload_is_refused_and_nothing_has_changed(committed, folder, next_version):
    """I08."""
    edit(folder / "migrations" / f"{MIGRATION}.sql", (DROP, ""))
    before = catalogue(committed.conn)

    with next_version(), pytest.raises(errors.DuplicateFunction) as caught:
        install(committed.conn)

    assert "cortex.step(uuid,bigint,bigint,text,integer)" in str(caught.value)
    assert catalogue(committed.conn) == before


def test_a_routine_that_lost_its_file_is_refused(committed, folder, next_version):
    (folder / "sql" / "functions" / "readers" / "metrics.sql").unlink()

    with next_version(), pytest.raises(errors.DuplicateFunction) as caught:
        install(committed.conn)

    assert caught.value.diag.message_hint.endswith("drop routine cortex.metrics();")


def test_psql_refuses_an_ambiguous_overload_too(tooled, folder, next_version):
    edit(folder / "migrations" / f"{MIGRATION}.sql", (DROP, ""))
    url = tooled.create(fresh_name("ambiguous"))
    install(url)
    before = dump(tooled, url)

    with next_version(), pytest.raises(RuntimeError, match="is not of this version of pycortex"):
        run_tool(tooled, "psql", "--no-psqlrc", "--quiet", "--dbname", url, stdin=script())

    assert dump(tooled, url) == before


def test_a_routine_of_somebody_else_in_schema_corpus_is_refused_only_with_corpus(empty_database):
    with psycopg.connect(empty_database, autocommit=True) as conn:
        conn.execute("create schema corpus")
        conn.execute("create function corpus.mine() returns integer language sql as 'select 1'")

        install(conn, corpus=False)

        with pytest.raises(errors.DuplicateSchema):
            install(conn)


def test_a_lock_row_of_yoyo_is_not_in_the_way(committed, next_version):
    """Another tool of yoyo's may have left it; an installation of ours never makes one."""
    committed.conn.execute(
        "insert into cortex.yoyo_lock (locked, ctime, pid) values (1, now(), 4711)"
    )

    with next_version():
        done = install(committed.conn)

    assert done.applied == (MIGRATION,)
    assert committed.conn.execute("select pid from cortex.yoyo_lock").fetchall() == [(4711,)]


def test_the_command_refuses_an_older_schema_and_says_what_to_run(
    database, next_version, monkeypatch
):
    from click.testing import CliRunner

    from pycortex.cli import main

    monkeypatch.setenv("PYCORTEX_DATABASE_URL", database)
    with next_version():
        refused = CliRunner().invoke(main, ["list"], prog_name="pycortex")
        CliRunner().invoke(main, ["install"], prog_name="pycortex")
        listed = CliRunner().invoke(main, ["list"], prog_name="pycortex")

    assert refused.exit_code == 1
    assert MIGRATION in refused.stderr
    assert NOW in refused.stderr
    assert "pycortex install" in refused.stderr
    assert listed.exit_code == 0
