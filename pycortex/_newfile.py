"""A file that is there whole or not at all, in a folder where this process may write."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
import time
from contextlib import suppress
from types import TracebackType

from pycortex.errors import JobFailed

__all__ = ["FOLDER", "NewFile", "allow"]

FOLDER = "PYCORTEX_EXPORT_DIR"
"""Names the folder in which jobs of this process write files; none if it isn't set."""

_TRIES = 10
_MARK = ".pycortex-part"
_OLD = 3600.0
"""Seconds without a write, after which an unfinished file that nobody holds is one left over."""
_SHOWN = 80
"""Characters of the file's own name in that of the unfinished one, which must not get too long."""

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

_PART_FLAGS = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_allowed: dict[str, bool] = {}


def allow(path: str, *, overwrite: bool) -> None:
    """
    Let jobs of this process write the file at *path*, wherever that is; for who runs its own.

    Args:
        overwrite: Whether they may write over one that is there, if they want to.
    """
    _allowed[path] = overwrite


class NewFile:
    """
    Writes a file under another name in the same folder, and gives it its own when it is whole.

    Whatever goes wrong is a JobFailed that names the path and the reason. Leaving the `with`
    without a commit leaves nothing; what a killed process has left is overwritten by the next one
    that writes the same file, or removed an hour later by one that writes another in its folder.

    Args:
        path: Below the folder that PYCORTEX_EXPORT_DIR names, absolute or relative to it, with no
            link on the way; or one that this program has allowed by name.
        overwrite: Whether it may take the place of a file that is there.

    Attributes:
        path: Where it will be.
        size: Bytes so far.
    """

    def __init__(self, path: str, *, overwrite: bool) -> None:
        self.path = path
        self.size = 0
        self._overwrite = overwrite and _allowed.get(path, True)
        self._sum = hashlib.sha256()
        self._folder = -1
        self._file = -1
        self._name = ""
        self._part = ""
        self._done = False

    @property
    def sha256(self) -> str:
        """Of the bytes so far, in hexadecimal digits."""
        return self._sum.hexdigest()

    def __enter__(self) -> NewFile:
        try:
            self._open_folder()
            self._look()
            self._clear_left()
            self._open_part()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._done:
            with suppress(OSError):
                os.unlink(self._part, dir_fd=self._folder)
        self._close()

    def write(self, data: bytes) -> None:
        """Append *data*."""
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            raise self._failed("can't be written", error) from None
        self._sum.update(data)
        self.size += len(data)

    def commit(self) -> None:
        """Put the file in its place, for good."""
        try:
            os.fsync(self._file)
            if self._overwrite:
                self._look()
                os.replace(self._part, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
            else:
                self._link()
            self._done = True
            os.fsync(self._folder)
        except OSError as error:
            raise self._failed("can't be written", error) from None

    def _link(self) -> None:
        """Put it in its place, unless there is a file meanwhile."""
        try:
            os.link(
                self._part, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder,
                follow_symlinks=False,
            )  # fmt: skip
        except FileExistsError:
            raise self._exists() from None
        except OSError:  # a file system without links
            self._look()
            os.rename(self._part, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        else:
            with suppress(OSError):
                os.unlink(self._part, dir_fd=self._folder)

    def _open_folder(self) -> None:
        if not self.path or "\0" in self.path:
            raise JobFailed(f"{self.path!r} is not the name of a file")
        if self.path in _allowed:
            folder, self._name = os.path.split(self.path)
            way = [folder or "."]
        else:
            way = self._way()
            self._name = way.pop()
        if self._name in ("", ".", ".."):
            raise JobFailed(f"{self.path} is not the name of a file")
        if self._name.endswith(_MARK):
            raise JobFailed(f"{self.path} can't be written: {_MARK} ends names of unfinished files")
        digest = hashlib.sha256(os.fsencode(self._name)).hexdigest()[:8]
        shown = os.fsdecode(os.fsencode(self._name)[:_SHOWN])
        self._part = f".{shown}.{digest}{_MARK}"
        try:
            self._folder = os.open(way[0], _FOLDER_FLAGS)
            for step in way[1:]:  # one by one, so that no link leads astray
                inner = os.open(step, _FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=self._folder)
                os.close(self._folder)
                self._folder = inner
        except FileNotFoundError:
            raise JobFailed(f"{self.path} can't be written: there is no such folder") from None
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                reason = "its folder is a link, or no folder"
                raise JobFailed(f"{self.path} can't be written: {reason}") from None
            raise self._failed("can't be written: its folder", error) from None

    def _way(self) -> list[str]:
        """Say which folders to go through, from the one where this process may write."""
        top = os.environ.get(FOLDER)
        if not top:
            raise JobFailed(
                f"{self.path} can't be written: {FOLDER} of this worker names no folder for files"
            )
        path = self.path
        if os.path.isabs(path):
            for base in (os.path.abspath(top), os.path.realpath(top)):
                if path.startswith(base.rstrip("/") + "/"):
                    path = path[len(base.rstrip("/")) :]
                    break
            else:
                raise JobFailed(f"{self.path} is not in {top}, where this worker writes files")
        if path.endswith("/"):
            raise JobFailed(f"{self.path} is not the name of a file")
        steps = [step for step in path.split("/") if step not in ("", ".")]
        if ".." in steps or not steps:
            raise JobFailed(f"{self.path} is not in {top}, where this worker writes files")
        return [top, *steps]

    def _look(self) -> None:
        """Make sure that what is there may go."""
        try:
            found = os.stat(self._name, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._failed("can't be written", error) from None
        if stat.S_ISDIR(found.st_mode):
            raise JobFailed(f"{self.path} can't be written: it is a folder")
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode)):
            raise JobFailed(f"{self.path} can't be written: it is not a file, but a pipe or device")
        if not self._overwrite:
            raise self._exists()

    def _clear_left(self) -> None:
        """Remove what killed processes have left in this folder, whatever it was to become."""
        with suppress(OSError), os.scandir(self._folder) as names:
            for name in [each.name for each in names if each.name.endswith(_MARK)]:
                with suppress(OSError):
                    self._clear(name)

    def _clear(self, name: str) -> None:
        left = os.open(name, _PART_FLAGS, dir_fd=self._folder)
        try:
            found = os.fstat(left)
            if _is_plain(found) and found.st_mtime < time.time() - _OLD:
                fcntl.flock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)  # whoever writes it holds it
                there = os.stat(name, dir_fd=self._folder, follow_symlinks=False)
                if os.path.samestat(there, found):
                    os.unlink(name, dir_fd=self._folder)
        finally:
            os.close(left)

    def _open_part(self) -> None:
        """Open the unfinished file, for this process alone."""
        flags = _PART_FLAGS | os.O_CREAT
        try:
            for _ in range(_TRIES):
                self._file = os.open(self._part, flags, 0o666, dir_fd=self._folder)
                self._check_part()
                if self._is_ours():
                    os.ftruncate(self._file, 0)
                    return
                os.close(self._file)
                self._file = -1
        except OSError as error:
            raise self._failed("can't be written", error) from None
        raise self._busy()

    def _check_part(self) -> None:
        if not _is_plain(os.fstat(self._file)):
            raise JobFailed(f"{self.path} can't be written: {self._part} is somebody else's")

    def _is_ours(self) -> bool:
        """Lock the unfinished file; say whether it still has its name, or another took it."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise self._busy() from None
        except OSError:
            return True  # a file system without locks
        try:
            there = os.stat(self._part, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return os.path.samestat(there, os.fstat(self._file))

    def _exists(self) -> JobFailed:
        return JobFailed(f"{self.path} is there already, and overwrite is not said")

    def _busy(self) -> JobFailed:
        return JobFailed(f"{self.path} is being written by another process at this moment")

    def _failed(self, what: str, error: OSError) -> JobFailed:
        return JobFailed(f"{self.path} {what}: {error.strerror or error}")

    def _close(self) -> None:
        for number in (self._file, self._folder):
            if number >= 0:
                with suppress(OSError):
                    os.close(number)
        self._file = self._folder = -1


def _is_plain(found: os.stat_result) -> bool:
    """Whether it is a file of ours, under one name."""
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_nlink <= 1
