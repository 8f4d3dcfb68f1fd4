"""A standby that becomes the primary."""

from __future__ import annotations

import psycopg

from tests.install.standby import make_standby


def test_the_first_list_closes_what_is_dead(own_server):
    """H12, P17: the truth goes on where the old primary left it."""
    url = make_standby(own_server)
    with psycopg.connect(url, autocommit=True) as conn:
        assert conn.execute("select status from cortex.list_recent()").fetchone() == ("running",)

        assert conn.execute("select pg_promote()").fetchone() == (True,)

        assert conn.execute("select status from cortex.list_recent()").fetchone() == (
            "interrupted",
        )
