"""A worker process: claims what is ready, notes which process ran what, and finishes it."""

from __future__ import annotations

import os
import sys

import psycopg


def main(conninfo: str, ready: str) -> None:
    """Say *ready*, wait for a line on stdin, then claim until nothing is ready."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        [runner] = conn.execute(
            "select cortex.register_runner('claimer', 'test.invalid', %s)", [os.getpid()]
        ).fetchone() or [None]
        print(ready, flush=True)
        sys.stdin.readline()
        while True:
            claimed = conn.execute(
                "select j.uuid, j.attempt from cortex.claim_jobs(%s, array['race']) as j", [runner]
            ).fetchall()
            if not claimed:
                return
            for job, attempt in claimed:
                conn.execute(
                    "insert into public.execution (job, pid) values (%s, %s)", [job, os.getpid()]
                )
                conn.execute(
                    "select cortex.finish_job(%s, 'succeeded', attempt => %s)", [job, attempt]
                )


if __name__ == "__main__":
    main(*sys.argv[1:])
