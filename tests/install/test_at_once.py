"""Several installations at once, on an empty database and on one where jobs run."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import Connection

from pycortex._data import data_path
from pycortex.install import install
from tests.concurrency.invariants import assert_invariants
from tests.concurrency.parallel import at_once, scalar, waiting
from tests.conftest import fresh_name
from tests.install.catalogue import books, catalogue
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
MIGRATIONS = sorted(path.stem for path in data_path("migrations").glob("*.sql"))
PROCESSES = 6
ROUNDS = 3


@pytest.fixture(scope="module")
def installers() -> Iterator[list[subprocess.Popen[str]]]:
    """Six processes, ready to install."""
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.install.installer"],
            cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        for _ in range(PROCESSES)
    ]  # fmt: skip
    try:
        for one in started:
            assert one.stdout.readline() == "ready\n"
        yield started
    finally:
        for one in started:
            one.kill()
            one.communicate()


def install_everywhere(installers: list[subprocess.Popen[str]], url: str) -> list[str]:
    for one in installers:
        one.stdin.write(f"{url}\n")
        one.stdin.flush()
    return [one.stdout.readline().strip() for one in installers]


def test_six_processes_make_one_set_of_objects(server, template, installers):
    """Case M03."""
    with psycopg.connect(server.url(template)) as usual:
        expected = catalogue(usual)
    for _ in range(ROUNDS):
        name = fresh_name("fresh")
        url = server.create(name)

        answers = install_everywhere(installers, url)

        with psycopg.connect(url) as conn:
            assert Counter(answers) == {f"ok {len(MIGRATIONS)}": 1, "ok 0": PROCESSES - 1}
            assert books(conn) == MIGRATIONS
            assert catalogue(conn) == expected
        server.drop(name)


def test_two_databases_of_one_server_at_once(server):
    """The four roles belong to the server: both make them, or find them."""
    names = [fresh_name("beside") for _ in range(2)]
    urls = [server.create(name) for name in names]

    done = at_once([lambda url=url: install(url) for url in urls])

    assert [len(one.applied) for one in done] == [len(MIGRATIONS)] * 2
    for name in names:
        server.drop(name)


@pytest.mark.parametrize("preferred", ["repeatable read", "serializable"])
def test_waits_for_another_one_and_sees_what_it_did(empty_database, preferred):
    """Also where transactions have a fixed snapshot by default."""
    with (
        psycopg.connect(empty_database, autocommit=True) as observer,
        psycopg.connect(empty_database) as first,
        psycopg.connect(empty_database, autocommit=True) as second,
    ):
        second.execute(f"set default_transaction_isolation = '{preferred}'")
        first.execute("select 1")  # begins a transaction, which the installation becomes a part of
        install(first)

        with waiting(observer, second, lambda: install(second)) as call:
            first.commit()
            done = call.result(60)

        assert done.applied == ()
        assert books(observer) == MIGRATIONS


class Life(threading.Thread):
    """One session that uses the job system until told to stop, and remembers every surprise."""

    def __init__(
        self, url: str, use: Callable[[Connection[Any], random.Random], None], seed: int
    ) -> None:
        super().__init__()
        self.url, self.use, self.dice = url, use, random.Random(seed)
        self.surprises: list[str] = []
        self.rounds = 0
        self.ending = threading.Event()

    def run(self) -> None:
        with psycopg.connect(self.url) as conn:
            while not self.ending.wait(0.005):  # nobody hammers without a breath
                try:
                    self.use(conn, self.dice)
                    conn.commit()
                except psycopg.Error as error:
                    conn.rollback()
                    self.surprises.append(f"{self.use.__name__} {error.sqlstate}: {error}")
                self.rounds += 1


def work(conn: Connection[Any], dice: random.Random) -> None:
    """What a worker does; each call commits."""
    runner = scalar(conn, "select cortex.register_runner('test', 'test.invalid', 1)")
    conn.commit()
    for _ in range(10):
        claimed = conn.execute(
            "select j.uuid, j.attempt from cortex.claim_jobs(%s, array['test'], 2) as j", [runner]
        ).fetchall()
        conn.commit()
        for job, attempt in claimed:
            scalar(conn, "select cortex.step(%s, 1, attempt => %s)", [job, attempt])
            conn.commit()
            scalar(conn, "select cortex.finish_job(%s, 'succeeded', attempt => %s)", [job, attempt])
            conn.commit()
        conn.execute("select * from cortex.keep_runner(%s)", [runner])
        conn.commit()
    conn.execute("select cortex.retire_runner(%s)", [runner])


def keep_house(conn: Connection[Any], dice: random.Random) -> None:
    conn.execute("select * from cortex.maintain()")
    conn.commit()
    conn.execute("select * from cortex.list_recent()")


def spawn_and_look(conn: Connection[Any], dice: random.Random) -> None:
    """Several calls in one transaction, a view read before a table is written."""
    scalar(conn, "select count(*) from cortex.runners")
    job = scalar(
        conn,
        "select s.uuid from cortex.spawn_job('test', debounce_scope => %s::jsonb) as s",
        [dice.choice([None, "{}", '{"n": 1}'])],
    )
    conn.execute("select * from cortex.find_job(%s)", [job])


def look_and_spawn(conn: Connection[Any], dice: random.Random) -> None:
    conn.execute("select * from cortex.jobs limit 3")
    conn.execute("select * from cortex.status_counts()")
    scalar(conn, "select s.uuid from cortex.spawn_job('test') as s")


def test_several_at_once_while_jobs_run(database, installers):
    """Case M03, from n to n + 1: nobody deadlocks, no call fails, no job is lost."""
    uses = [work, work, keep_house, spawn_and_look, look_and_spawn]
    lives = [Life(database, use, seed) for seed, use in enumerate(uses)]
    with psycopg.connect(database, autocommit=True) as observer:
        before = catalogue(observer)
        for life in lives:
            life.start()
        try:
            wait_until(lambda: all(life.rounds > 1 for life in lives), what="everybody is at work")
            answers = install_everywhere(installers, database)
        finally:
            for life in lives:
                life.ending.set()
            for life in lives:
                life.join(60)

        assert [surprise for life in lives for surprise in life.surprises] == []
        assert answers == ["ok 0"] * PROCESSES
        assert catalogue(observer) == before
        assert scalar(observer, "select count(*) from cortex.job where status = 'succeeded'") > 0
        assert_invariants(observer)


def test_does_not_stop_everybody_while_it_waits_for_somebody(database):
    """A transaction that looked at jobs and went to lunch must not halt the job system."""
    with (
        psycopg.connect(database, autocommit=True) as observer,
        psycopg.connect(database) as lunch,
        psycopg.connect(database, autocommit=True) as installer,
        psycopg.connect(database, autocommit=True) as caller,
    ):
        lunch.execute("select count(*) from cortex.jobs")
        caller.execute("set lock_timeout = '1s'")

        with waiting(observer, installer, lambda: install(installer)) as call:
            for _ in range(20):
                caller.execute("select cortex.spawn_job('test')")
                caller.execute("select * from cortex.list_recent()")
            lunch.commit()
            done = call.result(60)

        assert done.applied == ()
