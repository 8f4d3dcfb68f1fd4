"""Making the cluster of an embedded server, and running programs on it."""

import os
import pwd
from pathlib import Path

from pycortex._pgbinaries import binaries, let_through, major_version, run

__all__ = ["SUPERUSER", "make_cluster", "run_for"]

SUPERUSER = "postgres"
SETTINGS = """
# Written by pycortex: reached through a socket that only the owner of this folder may open.
listen_addresses = ''
unix_socket_directories = '.'
unix_socket_permissions = 0700
"""


def make_cluster(folder: Path, data: Path, user: pwd.struct_passwd | None) -> None:
    """Make a cluster aside in *folder*, and have it become *data* when it is whole."""
    aside = folder / f"data.new-{os.getpid()}"
    aside.mkdir(mode=0o700)
    if user is not None:
        os.chown(aside, user.pw_uid, user.pw_gid)
    programs = binaries(None)
    arguments: list[str | Path] = [
        "--auth=trust",
        "--encoding=UTF8",
        "--locale=C",
        "-U",
        SUPERUSER,
        "-D",
        aside,
    ]
    # The kernel writes the new files out within half a minute; until then there is nothing in
    # them that could be lost.
    arguments.append("--no-sync")
    if major_version(programs) >= 17:
        arguments += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    run_for(folder, [programs / "initdb", *arguments], user, cwd=aside, what="set up")
    with (aside / "postgresql.conf").open("a") as settings:
        settings.write(SETTINGS)
    aside.rename(data)


def run_for(
    folder: Path,
    command: list[str | Path],
    user: pwd.struct_passwd | None,
    *,
    cwd: Path,
    what: str,
    log: Path | None = None,
) -> None:
    """Run one of the programs as *user*, who is let through to *folder*; see `run`."""
    if user is not None:
        let_through(folder)
    run(command, user, cwd=cwd, what=what, log=log)
