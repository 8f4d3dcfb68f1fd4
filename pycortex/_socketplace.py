"""Where the embedded server has its socket: a socket's address holds only so many bytes."""

import hashlib
import os
import pwd
import stat
import tempfile
from pathlib import Path

from pycortex._pgbinaries import EmbeddedError

__all__ = ["planned_folder", "prepare", "running_folder"]

LONGEST_SOCKET = 103


def running_folder(data: Path) -> Path:
    """Where the running server has its socket; where the next one will, if none runs."""
    try:
        noted = (data / "postmaster.pid").read_text().split("\n")[4]
    except (OSError, IndexError):
        noted = ""
    return data / noted if noted else planned_folder(data)


def planned_folder(data: Path) -> Path:
    """The cluster's own folder, unless a socket's address can't hold its name."""
    name = str(data)
    if "," not in name and len(os.fsencode(data / ".s.PGSQL.5432")) <= LONGEST_SOCKET:
        return data
    digest = hashlib.sha256(os.fsencode(name)).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"pycortex-{os.getuid()}-{digest}"


def prepare(data: Path, user: pwd.struct_passwd | None) -> list[str]:
    """
    Make the folder of the socket, and return what tells the server to use it.

    Raises:
        EmbeddedError: Somebody else has such a folder.
    """
    folder = planned_folder(data)
    if folder == data:
        return []
    owner = os.getuid() if user is None else user.pw_uid
    folder.mkdir(mode=0o700, exist_ok=True)
    if user is not None and folder.lstat().st_uid == os.getuid():
        os.chown(folder, owner, user.pw_gid)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != owner or found.st_mode & 0o077:
        raise EmbeddedError(
            f"the embedded server needs {folder} for its socket, and it is somebody else's",
            "remove it, or name a shorter folder with --database-url embedded:///path",
        )
    return ["-o", f"-c unix_socket_directories='{folder}'"]
