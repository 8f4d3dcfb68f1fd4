"""
The demo: real jobs on real data, their deaths included.

Whatever it says of a job, it has read from the database; whatever it claims, it checks.
"""

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import psycopg
from psycopg import Connection

from pycortex import install as installer
from pycortex import sql
from pycortex._data import data_path
from pycortex._stage import PATIENCE, Stage, over
from pycortex.cli._jobs import by_uuid
from pycortex.cli._local import run_here
from pycortex.cli._output import out
from pycortex.cli._report import print_report
from pycortex.cli._table import Column, print_table
from pycortex.cli.builtin import spawn_import
from pycortex.cli.jobs import print_counts
from pycortex.models import JobStatus, Spawned

__all__ = ["run"]

CALLERS = 50
CORPUS = "demo"
SERVICE = "latexml"
SEVERITY = "error"
BEAT, GRACE = 1, 3
SILENCE = 3


def run(conninfo: str, command: str) -> list[str]:
    """
    Show everything, on standard output.

    Args:
        conninfo: A database that may be filled with samples.
        command: How to call this program on that database, as one would type it.

    Returns:
        The claims that did not hold; none when all is well.
    """
    with psycopg.connect(conninfo, autocommit=True) as conn:
        return _Demo(conninfo, conn, command).run()


class _Demo(Stage):
    def __init__(self, conninfo: str, conn: Connection[Any], command: str) -> None:
        super().__init__(conninfo, conn, command)
        [self._began] = self.row("select clock_timestamp()")
        self._corpus_id = self._service_id = 0

    def run(self) -> list[str]:
        self._install()
        self._import()
        populate = self._spawn_at_once()
        with self._short_rhythm(), self.process("worker") as worker:
            self._report(populate)
            self._maintain()
            self._kill()
            self._hang()
            self._end_worker(worker)
        self._look_back()
        return self.broken

    def _install(self) -> None:
        self.title("Install the schema, in one transaction", f"$ {self.command} install")
        done = installer.install(self.conn)
        [version, routines] = self.row(
            "select current_setting('server_version'), count(*) from pg_proc"
            " where pronamespace = 'cortex'::regnamespace"
        )
        self.tell(
            f"PostgreSQL {version}: {len(done.applied)} new migrations; "
            f"schema cortex has {routines} routines"
        )
        self.claim("nothing is left to apply", not installer.pending(self.conn))

    def _import(self) -> None:
        logs = data_path("latexml-logs")
        self.title(
            "Import real conversion logs, a job with progress",
            f"$ {self.command} corpus import {os.path.relpath(logs)} --corpus {CORPUS}",
        )
        job = run_here(
            self.conninfo,
            lambda conn: spawn_import(conn, logs, corpus=CORPUS, service=SERVICE, actor="demo"),
            stream=sys.stdout,
        )
        self.table([job])
        result = job.result if isinstance(job.result, dict) else {}
        self._corpus_id = int(result.get("corpus_id", 0))
        self._service_id = int(result.get("service_id", 0))
        rows = self.conn.execute(
            "select case status when -1 then 'no problem' when -2 then 'warning'"
            " when -3 then 'error' when -4 then 'fatal' else 'invalid' end, count(*)"
            " from corpus.tasks where corpus_id = %s group by status order by status desc",
            [self._corpus_id],
        ).fetchall()
        print_table(
            (Column("DOCUMENTS WHOSE WORST IS"), Column("NUMBER", right=True)),
            [[name, str(number)] for name, number in rows],
        )
        files = sum(path.is_file() for path in logs.rglob("*.log"))
        self.claim(f"{files} files became {files} tasks", sum(n for _, n in rows) == files)

    def _spawn_at_once(self) -> UUID:
        slice_ = f"{self._corpus_id}, {self._service_id}, '{SEVERITY}'"
        call = f"cortex.spawn_report_populate({slice_})"
        self.title(
            f"Ask for the same report {CALLERS} times at once, from {CALLERS} connections",
            f"=> select * from {call};",  # noqa: S608 - shown, never run
        )
        start = sql.db_now(self.conn)
        answers = self._all_at_once()
        [uuid, *others] = {answer.uuid for answer in answers}
        [jobs] = self.row(
            "select count(*) from cortex.jobs where kind = 'populate_report' and created_at >= %s",
            start,
        )
        self.table(by_uuid(self.conn, [uuid]))
        created = sum(answer.created for answer in answers)
        self.tell(
            f"{len(answers)} answers name {1 + len(others)} uuid; {created} of them says created"
        )
        self.claim(f"{CALLERS} callers made one job", not others and jobs == 1 and created == 1)
        return uuid

    def _all_at_once(self) -> list[Spawned]:
        together = threading.Barrier(CALLERS)

        def ask(number: int) -> Spawned:
            with psycopg.connect(self.conninfo, autocommit=True) as conn:
                together.wait(PATIENCE)
                return sql.spawn_report_populate(
                    conn, self._corpus_id, self._service_id, SEVERITY, actor=f"caller {number}"
                )

        with ThreadPoolExecutor(CALLERS) as pool:
            return list(pool.map(ask, range(1, CALLERS + 1)))

    def _report(self, populate: UUID) -> None:
        place = f"{self._corpus_id} {self._service_id} {SEVERITY}"
        self.title(
            "A worker, which is another process, counts the report",
            f"$ {self.command} worker",
            f"$ {self.command} report show {place}",
        )
        [job] = self.until([populate], over)
        rows = print_report(self.conn, self._corpus_id, self._service_id, SEVERITY, most=10)
        [messages] = self.row(
            "select count(*) from corpus.log_errors as l join corpus.tasks as t on t.id = l.task_id"
            " where t.corpus_id = %s and t.service_id = %s and t.status = -3",
            self._corpus_id,
            self._service_id,
        )
        self.claim(
            f"the report's total is the {messages} messages in the table",
            job.status is JobStatus.SUCCEEDED and rows and rows[0].message_count == messages,
        )

    def _maintain(self) -> None:
        statements = (
            "select * from cortex.spawn_analyze(actor => 'demo')",
            "select * from cortex.spawn_reindex(actor => 'demo')",
        )
        self.title(
            "Any client that speaks SQL spawns jobs; the worker runs them",
            *(f"=> {statement};" for statement in statements),
        )
        uuids = [self.row(statement)[0] for statement in statements]
        jobs = self.until(uuids, over)
        self.claim(
            "analyze and reindex succeeded, a step for each table",
            all(
                job.status is JobStatus.SUCCEEDED and job.progress_current == job.progress_total
                for job in jobs
            ),
        )

    def _kill(self) -> None:
        self.title(
            "A process that is killed can't say goodbye; its job is closed all the same",
            "$ kill -KILL the process that runs the job",
        )
        self.tell(
            f"(For the demo a runner beats every {BEAT} s and is dead after {GRACE} s of silence; "
            "as installed, 5 s and 30 s.)"
        )
        with self.process("demo_steady") as process:
            uuid = UUID(str(process.stdout and process.stdout.readline()).strip())
            self.until([uuid], lambda jobs: any(job.progress_current >= 15 for job in jobs))
            process.kill()
            process.wait()
            out(f"killed process {process.pid}")
        [job] = self.until([uuid], over)
        self.tell(f"message: {job.message}")
        [seconds] = self.row(
            "select extract(epoch from j.finished_at - r.seen_at)::float8"
            " from cortex.jobs as j join cortex.runners as r on r.uuid = j.runner"
            " where j.uuid = %s",
            uuid,
        )
        self.claim(
            f"interrupted {seconds:.1f} s after the runner's last beat",
            job.status is JobStatus.INTERRUPTED and GRACE <= seconds <= GRACE + 5 * BEAT,
        )

    def _hang(self) -> None:
        limit = f"select cortex.configure_kind('demo_silent', stale_after => '{SILENCE} seconds')"
        self.title(
            "A body that hangs in a live process is found by its silence",
            f"=> {limit};",
        )
        self.tell(f"(As installed, 2 hours; here {SILENCE} s, for this kind only.)")
        self.conn.execute(limit.encode())
        with self.process("demo_silent") as process:
            uuid = UUID(str(process.stdout and process.stdout.readline()).strip())
            [job] = self.until([uuid], over)
            alive = process.poll() is None
            process.kill()
        self.tell(f"message: {job.message}")
        self.claim(
            "interrupted, although its process was alive",
            job.status is JobStatus.INTERRUPTED and alive,
        )

    def _end_worker(self, worker: "subprocess.Popen[str]") -> None:
        worker.terminate()
        code = worker.wait(PATIENCE)
        [retired] = self.row(
            "select retired_at is not null from cortex.runners where pid = %s"
            " order by registered_at desc limit 1",
            worker.pid,
        )
        self.claim("the worker left in good order at SIGTERM", code == 0 and retired)

    def _look_back(self) -> None:
        self.title("What happened", f"$ {self.command} list", f"$ {self.command} counts")
        jobs = sql.list_recent(self.conn, max_rows=8)
        self.table(jobs)
        out()
        print_counts(sql.status_counts(self.conn))
        [active] = self.row(
            "select count(*) from cortex.jobs where created_at >= %s and finished_at is null",
            self._began,
        )
        self.claim("every job of this demo has ended", active == 0)
        killed = next(job for job in jobs if job.kind == "demo_steady")
        out()
        out("Try next:")
        out(f"  {self.command} show {str(killed.uuid)[:8]}")
        out(f"  {self.command} reindex")
        out(f"  {self.command} doctor")

    @contextlib.contextmanager
    def _short_rhythm(self) -> Iterator[None]:
        before = sql.configuration(self.conn)
        sql.configure(self.conn, runner_beat=f"{BEAT} s", runner_grace=f"{GRACE} s")
        try:
            yield
        finally:
            sql.configure(
                self.conn, runner_beat=before.runner_beat, runner_grace=before.runner_grace
            )
