"""A program and a schema of different versions."""

from __future__ import annotations

import psycopg
import pytest

from pycortex import Runner
from pycortex.install import OlderSchema


def test_a_runner_refuses_a_database_without_our_schema(empty_database):
    with pytest.raises(psycopg.errors.InvalidSchemaName):
        Runner(empty_database).start()

    with psycopg.connect(empty_database) as conn:
        assert conn.execute("select to_regnamespace('cortex')").fetchone() == (None,)


def test_a_runner_refuses_an_older_schema_and_names_both_versions(database, committed):
    """M13."""
    committed.conn.execute("delete from cortex._yoyo_migration where migration_id > '0004'")

    with pytest.raises(OlderSchema, match=r"0003\.create-runner.* needs 00"):
        Runner(database).start()

    assert committed.conn.execute("select count(*) from cortex.runners").fetchone() == (0,)


def test_a_runner_warns_of_a_newer_schema_and_works(new_runner, committed, caplog):
    """M13."""
    committed.conn.execute(
        "insert into cortex._yoyo_migration (migration_hash, migration_id, applied_at_utc)"
        " values ('x', '9999.of-tomorrow', now())"
    )

    runner = new_runner()

    assert "9999.of-tomorrow" in caplog.text
    assert runner.spawn("test", lambda progress: 1).wait(20).result == 1


def test_a_runner_does_without_schema_corpus(new_runner, committed):
    committed.conn.execute("delete from cortex._yoyo_migration where migration_id like '%corpus%'")

    assert new_runner().spawn("test", lambda progress: 1).wait(20).result == 1
