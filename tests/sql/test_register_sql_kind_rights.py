"""register_sql_kind where the owner of the schema is an ordinary role."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import sql

from tests.owners import Owned, owned_database


@pytest.fixture(scope="module")
def owned(server):
    with owned_database(server) as found:
        yield found


def warnings_of_registering(owned: Owned) -> list[str]:
    """What the application hears that registers a body of its own."""
    said: list[str] = []
    with psycopg.connect(owned.app, autocommit=True) as app:
        app.add_notice_handler(lambda notice: said.append(notice.message_primary or ""))
        app.execute("select cortex.register_sql_kind('k', 'theirs.body')")
    return said


def test_warns_where_the_upkeep_could_not_end_a_body_that_hangs(owned):
    app, owner = sql.Identifier(owned.app_name), sql.Identifier(owned.owner_name)
    with psycopg.connect(owned.admin, autocommit=True) as admin:
        admin.execute(
            sql.SQL(
                "create schema theirs; create procedure theirs.body(job uuid) language sql"
                " as 'select'; grant usage on schema theirs to {0}; alter procedure theirs.body"
                " owner to {0}; grant execute on all functions in schema cortex to {0}"
            ).format(app)
        )

        assert [
            "may not end sessions of role " + owned.app_name in line
            for line in warnings_of_registering(owned)
        ] == [True]
        for grant, revoke in [
            ("grant {app} to {owner}", "revoke {app} from {owner}"),
            ("grant pg_signal_backend, pg_read_all_stats to {owner}", "select"),
        ]:
            admin.execute(sql.SQL(grant).format(app=app, owner=owner))
            assert warnings_of_registering(owned) == []
            admin.execute(sql.SQL(revoke).format(app=app, owner=owner))
