"""A standby without its primary, which is all that matters to whoever reads from it."""

from __future__ import annotations

import psycopg

from pycortex.install import install
from tests.factories import make_job, make_runner
from tests.servers import LocalServer


def make_standby(server: LocalServer) -> str:
    """Install, leave a stale job of a runner that is gone, and go into recovery; the URL."""
    server.configure(wal_level="replica")
    server.restart()
    url = server.create("app")
    install(url)
    with psycopg.connect(url) as conn:
        runner = make_runner(conn, alive=False)
        make_job(
            conn,
            "running",
            runner=runner,
            silent_for="3 hours",
            kind="populate_report",
            params={"corpus_id": 1, "service_id": 1, "severity": "error"},
        )
        conn.execute("select cortex.configure_kind('populate_report', run_timeout => '1 hour')")
    server.stop()
    (server.data / "standby.signal").touch()
    server.start()
    return url
