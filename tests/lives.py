"""One job's whole life with bare SQL: the least that a server must be able to show."""

from __future__ import annotations

import psycopg


def live_a_life(url: str) -> tuple[str, str, int]:
    """
    Spawn, claim, step and finish a job in the database *url*, which has pycortex installed.

    Returns:
        Its status, its message and how many changes of state were recorded.
    """
    with psycopg.connect(url, autocommit=True) as conn:

        def ask(query: str, *params: object) -> object:
            row = conn.execute(query, params).fetchone()
            return row and row[0]

        job = ask("select uuid from cortex.spawn_job(kind => 'life')")
        runner = ask("select cortex.register_runner('life', 'localhost', 1)")
        assert job == ask("select uuid from cortex.claim_jobs(%s, '{life}')", runner)
        assert ask("select cortex.step(%s, 1, 2, 'half-way')", job) == "continue"
        assert ask("select cortex.finish_job(%s, 'succeeded', 'done')", job) is True
        row = conn.execute(
            "select status, message, (select count(*) from cortex.job_events where job = j.uuid)"
            " from cortex.jobs as j where uuid = %s",
            [job],
        ).fetchone()
    assert row is not None
    return row
