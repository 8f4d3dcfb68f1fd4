"""watch on a terminal: what stands on the screen, whatever happens to it."""

from __future__ import annotations

import re
import signal
import threading
from contextlib import closing

import psycopg
import pytest

from pycortex.cli._live import TICK
from pycortex.cli._picture import Watcher
from pycortex.install import install
from tests.factories import Factory
from tests.faults.test_pgbouncer import Bouncer
from tests.servers import LocalServer
from tests.waiting import wait_until

UUID = r"[0-9a-f]{8}"


def finish(committed, uuid, status="succeeded", message="") -> None:
    committed.conn.execute(
        "select cortex.finish_job(job => %s, status => %s, message => %s)", [uuid, status, message]
    )


def step(committed, uuid, current, total=100, message="") -> None:
    committed.conn.execute(
        "select cortex.step(job => %s, current => %s, total => %s, message => %s)",
        [uuid, current, total, message],
    )


def read_by(conn, relation="cortex.job") -> int:
    """Rows of a table that this transaction has read, in order or through an index."""
    [read] = conn.execute(
        "select seq_tup_read + coalesce(idx_tup_fetch, 0) from pg_stat_xact_user_tables"
        " where relid = %s::regclass",
        [relation],
    ).fetchone()
    return read


def test_shows_numbers_columns_and_a_line_per_job(pycortex, committed):
    runner = committed.make_runner()
    committed.make_job("running", kind="export", runner=runner, progress_current=2)
    committed.make_job("queued", kind="import", silent_for="5 minutes")
    committed.make_job("failed")
    committed.make_job("interrupted")

    with pycortex.on_screen("watch", size=(130, 20)) as shown:
        shown.wait_for("queued for")
        lines = shown.lines

    assert re.fullmatch(r"pycortex \S+ +\d\d:\d\d:\d\d", lines[0])
    assert re.fullmatch(
        r"1 running   1 queued, oldest waits 5m\d\ds   1 failed   1 interrupted in the last hour"
        r"   1 runner   no upkeep yet",
        lines[1],
    )
    assert lines[2] == ""
    assert lines[3].split() == ["JOB", "KIND", "DONE", "RATE", "LEFT", "TIME", "BEAT", "MESSAGE"]
    assert re.fullmatch(rf"{UUID} export ─{{20}} +2 +\d+\.\ds +\d+\.\ds", lines[4])
    assert re.fullmatch(rf"{UUID} import ─{{20}} +queued for 5m\d\ds", lines[5])
    assert not any(lines[6:])


def test_shows_rate_and_time_left_of_what_moves(pycortex, committed):
    job = committed.make_job("running", kind="import")

    with pycortex.on_screen("watch", size=(110, 20)) as shown:
        done = 0

        def moves():
            nonlocal done
            done += 1
            step(committed, job, done, 100000, f"file {done}")
            return re.search(r"\d/s +~\d+[a-z]\w* .* file", shown.text)

        shown.wait_for(moves)


def test_shows_what_a_statement_does(pycortex, committed, connect):
    job = committed.make_job("running", kind="reindex", message="at it")
    body = connect(autocommit=True)
    body.execute("select cortex.attach_backend(%s)", [job])
    committed.conn.execute("select pg_advisory_lock(42)")

    with pycortex.on_screen("watch", str(job), size=(160, 20)) as shown:
        waiting = threading.Thread(target=body.execute, args=["select pg_advisory_lock(42)"])
        waiting.start()
        try:
            shown.wait_for("waiting for a lock (advisory)")
            assert "at it (statement for" in shown.text
        finally:
            committed.conn.execute("select pg_advisory_unlock(42)")
            waiting.join()


def test_turns_a_heartbeat_yellow_and_red_before_the_limit_of_its_kind(pycortex, committed):
    committed.conn.execute("select cortex.configure_kind('brief', stale_after => '10 minutes')")
    committed.make_job("running", kind="brief", silent_for="3 minutes", message="calm")
    committed.make_job("running", kind="brief", silent_for="6 minutes", message="worrying")
    committed.make_job("running", kind="brief", silent_for="9 minutes", message="alarming")
    committed.make_job("running", kind="long", silent_for="40 minutes", message="patient")

    with pycortex.on_screen("watch", size=(110, 20)) as shown:
        shown.wait_for("alarming")

        def colour(message):
            [line] = [line for line in shown.lines if line.endswith(message)]
            return shown.colour_of(line.split()[-2] + " " + message)

        assert colour("calm") == "default"
        assert colour("worrying") == "brown"  # so pyte calls yellow
        assert colour("alarming") == "red"
        assert colour("patient") == "default"


def test_keeps_up_with_what_happens(pycortex, committed):
    first = committed.make_job("running", message="first")

    with pycortex.on_screen("watch", size=(110, 20)) as shown:
        shown.wait_for("1 running")
        shown.wait_for("first")
        finish(committed, first, "failed", "no luck")
        shown.wait_for("failed no luck")
        shown.wait_for("1 failed in the last hour")
        committed.make_job("running", message="second")
        shown.wait_for("second")
        assert shown.text.index("second") < shown.text.index("no luck"), "what is over comes last"
        assert shown.process.poll() is None


def test_follows_the_size_of_its_terminal(pycortex, committed):
    for number in range(30):
        committed.make_job("running", progress_current=number, message=f"number {number:02} " * 9)

    row = re.compile(rf"({UUID} )?test +[━─]+ .*")

    def garbage():
        """Lines that are not one whole line of the view."""
        known = (
            r"\d+ (running|queued|failed).*|.*no upkeep yet|and \d+ more|(JOB|KIND) .*|pycortex .*"
        )
        return [
            line
            for line in shown.lines
            if line and not re.fullmatch(known, line) and not row.fullmatch(line)
        ]

    def settled(size):
        shown.resize(size)
        shown.wait_for(
            lambda: (
                (number := re.search(r"and (\d+) more", shown.text))
                and len([line for line in shown.lines if row.fullmatch(line)]) + int(number[1])
                == 30
                and len(shown.lines) == size[1]
                and not garbage()
            )
        )
        assert max(len(line) for line in shown.lines) <= size[0]

    with pycortex.on_screen("watch", size=(100, 24)) as shown:
        for size in ((100, 24), (40, 20), (150, 12), (60, 30), (41, 9), (100, 24)):
            settled(size)


@pytest.mark.parametrize("size", [(1, 1), (5, 2), (20, 3), (300, 4), (40, 11)])
def test_bears_any_size(pycortex, committed, size):
    committed.make_job("running", kind="k" * 50, progress_current=3, progress_total=9)

    with pycortex.on_screen("watch", size=size) as shown:
        shown.wait_for(lambda: shown.raw.count(b"\x1b[H") >= 4)
        shown.type("\x03")

        assert shown.end() == 130


def test_leaves_the_terminal_sane_at_ctrl_c(pycortex, committed):
    committed.make_job("running", message="at it")

    with pycortex.on_screen("watch") as shown:
        shown.wait_for("at it")
        assert not shown.is_sane, "the cursor is hidden"
        shown.type("\x03")

        assert shown.end() == 130
        assert shown.is_sane
        assert "at it" in shown.text, "what was seen last stays"


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_leaves_the_terminal_sane_at_a_signal(pycortex, committed, ending):
    with pycortex.on_screen("watch") as shown:
        shown.wait_for("no active jobs")
        shown.process.send_signal(ending)

        assert shown.end() == 130
        assert shown.is_sane


def test_is_left_with_q(pycortex, committed):
    with pycortex.on_screen("watch") as shown:
        shown.wait_for("no active jobs")
        shown.type("xq")

        assert shown.end() == 0
        assert shown.is_sane
        assert "xq" not in shown.text


def test_gives_the_terminal_back_while_it_is_suspended(pycortex, committed):
    committed.make_job("running", message="at it")

    with pycortex.on_screen("watch") as shown:
        shown.wait_for("at it")
        shown.process.send_signal(signal.SIGTSTP)
        shown.wait_for(lambda: _state(shown.process.pid) == "T")
        shown.read(0.1)
        assert shown.is_sane

        shown.process.send_signal(signal.SIGCONT)
        shown.wait_for("at it")
        assert not shown.is_sane
        shown.type("\x03")
        assert shown.end() == 130
        assert shown.is_sane


def _state(pid: int) -> str:
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0]


def test_of_given_jobs_ends_with_them(pycortex, committed):
    job = committed.make_job("running", message="at it")

    with pycortex.on_screen("watch", str(job)) as shown:
        shown.wait_for("at it")
        finish(committed, job, message="all done")

        assert shown.end() == 0
        assert shown.is_sane
        assert "succeeded all done" in shown.text


@pytest.mark.parametrize("option", ["-u", "--until-idle"])
def test_ends_on_a_terminal_when_nothing_is_active_if_asked_to(pycortex, committed, option):
    with pycortex.on_screen("watch", option) as shown:
        assert shown.end() == 0
        assert "no active jobs" in shown.text


def test_speaks_ascii_where_nothing_else_is_understood(pycortex, committed):
    """N07"""
    committed.make_job(
        "running", kind="ünï", progress_current=3, progress_total=9, message="→ 漢字"
    )
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

    with pycortex.on_screen("watch", env=plain, size=(40, 20)) as shown:
        shown.wait_for("33%")
        shown.type("\x03")
        assert shown.end() == 130

    assert shown.raw.isascii()
    assert "33%" in shown.text
    assert "#" in shown.text


def test_obeys_nothing_that_a_message_says(pycortex, committed):
    """E13"""
    committed.make_job(
        "running", kind="a\tb", message="\x1b[2J\x1b]0;title\x07 \r\n 漢字👩‍👩‍👧 " + "x" * 300
    )
    committed.make_job("running", message="below")

    with pycortex.on_screen("watch", size=(60, 20)) as shown:
        shown.wait_for("below")

        assert "\\x1b[2J" in shown.text
        assert b"]0;title\x07" not in shown.raw


def test_says_that_somebody_has_locked_the_jobs_and_goes_on_after(pycortex, committed):
    committed.make_job("running", message="at it")

    with pycortex.on_screen("watch") as shown:
        shown.wait_for("at it")
        with committed.conn.transaction():
            committed.conn.execute("lock table cortex.job in access exclusive mode")
            shown.wait_for("database locked by somebody, such as an upgrade, for")
            assert "at it" in shown.text, "what was seen last stays"
        shown.wait_for(lambda: "locked" not in shown.text and "at it" in shown.text)
        shown.type("\x03")

        assert shown.end() == 130


def test_says_that_the_database_is_away_and_comes_back(pycortex, own_server, own_database):
    with psycopg.connect(own_database, autocommit=True) as conn:
        Factory(conn).make_job("running", message="at it")

    with pycortex.on_screen("watch", env={"PYCORTEX_DATABASE_URL": own_database}) as shown:
        shown.wait_for("at it")
        own_server.stop("immediate")
        try:
            shown.wait_for("database out of reach for")
            assert shown.colour_of("database out of reach") == "red"
            assert "at it" in shown.text, "what was seen last stays"
        finally:
            own_server.start()
        shown.wait_for(lambda: "out of reach" not in shown.text and "at it" in shown.text)
        shown.type("\x03")

        assert shown.end() == 130
        assert shown.is_sane
        assert not re.search("Traceback|Error", shown.text)


def test_outlives_the_end_of_its_session_and_of_its_statement(pycortex, committed):
    committed.make_job("running", message="at it")
    mine = "from pg_stat_activity where application_name = 'pycortex watch'"

    with pycortex.on_screen("watch") as shown:
        shown.wait_for("at it")
        [pid] = committed.conn.execute(f"select pid {mine}").fetchone()
        committed.conn.execute("select pg_terminate_backend(%s)", [pid])
        wait_until(
            lambda: (
                committed.conn.execute(f"select pid {mine} and pid <> %s", [pid]).fetchall()
                or shown.read(0.05)
            )
        )
        drawn = shown.raw.count(b"\x1b[H")
        shown.wait_for(lambda: shown.raw.count(b"\x1b[H") > drawn + 2)

        assert "at it" in shown.text
        assert "out of reach" not in shown.text


def test_works_through_a_pooler(pycortex, committed, database, tmp_path):
    """H06: the next query may find itself in another session."""
    committed.make_job("running", message="at it")
    bouncer = Bouncer(database, tmp_path)
    try:
        with pycortex.on_screen("watch", env={"PYCORTEX_DATABASE_URL": bouncer.url}) as shown:
            shown.wait_for(lambda: shown.raw.count(b"\x1b[H") > 12)
            assert "at it" in shown.text
            assert "out of reach" not in shown.text
            shown.type("\x03")
            assert shown.end() == 130
    finally:
        bouncer.process.kill()
        bouncer.process.wait()


def test_asks_a_query_a_picture_and_now_and_then_another(pycortex):
    """However many jobs there are; and no more than two pictures a second."""
    with closing(LocalServer(log_statement="all")) as server:
        url = server.create("app")
        install(url)
        with psycopg.connect(url, autocommit=True) as conn:
            conn.execute(
                "insert into cortex.job (kind)"
                " select 'k' || n % 9 from generate_series(1, 3000) as n"
            )
        with pycortex.on_screen("watch", env={"PYCORTEX_DATABASE_URL": url}) as shown:
            shown.wait_for("3000 queued")
            before, drawn = _statements(server), shown.raw.count(b"\x1b[H")
            shown.wait_for(lambda: shown.raw.count(b"\x1b[H") >= drawn + 8)
            asked = _statements(server) - before
            pictures = shown.raw.count(b"\x1b[H") - drawn + 1

    assert 4 <= asked <= 1.5 * pictures + 1
    assert TICK >= 0.4


def _statements(server) -> int:
    return len(re.findall(r"LOG:  (?:statement|execute)", (server.folder / "log").read_text()))


def test_reads_few_rows_of_many(conn):
    """10,000 active jobs and a long history: what one picture reads is what it shows."""
    conn.execute(
        "insert into cortex.job (kind, status, created_at, updated_at, started_at, finished_at)"
        " select 'k', 'succeeded', m, m, m, m"
        " from (select clock_timestamp() - make_interval(hours => n) as m"
        " from generate_series(1, 30000) as n) as moments"
    )
    conn.execute(
        "insert into cortex.job (kind, status, started_at)"
        " select 'k', (array['queued', 'running']::cortex.job_status[])[1 + n % 2],"
        " clock_timestamp() from generate_series(1, 10000) as n"
    )
    conn.execute("analyze cortex.job")
    watcher = Watcher(most=50)
    before = read_by(conn)

    picture = watcher.read(conn)

    assert len(picture.jobs) == 100
    assert read_by(conn) - before < 2000
    assert len(watcher.read(conn).jobs) == 100


def test_has_no_params_and_results_sent(conn, make_job):
    """They may be of megabytes, and nobody sees them here."""
    make_job("running", kind="heavy", params={"x": "y" * 1000})

    [job] = Watcher(kind="heavy").read(conn).jobs

    assert (job.params, job.result) == ({}, None)


def test_bears_moments_that_no_calendar_has(pycortex, committed):
    committed.make_job("queued", run_at="infinity", kind="late")
    committed.make_job("queued", run_at="-infinity", kind="early")

    with pycortex.on_screen("watch") as shown:
        shown.wait_for("starts never")
        assert re.search(r"early .*queued for", shown.text)


def test_works_for_a_reader_who_may_nothing_else(pycortex, committed, database):
    committed.make_job("running", message="at it")
    options = "options=-c%20role%3Dcortex_reader"
    url = database + ("&" if "?" in database else "?") + options

    with pycortex.on_screen("watch", env={"PYCORTEX_DATABASE_URL": url}) as shown:
        shown.wait_for("1 running")
        shown.wait_for("at it")
