"""Documents as they lie in a folder or an archive: what is called what, and how to read it."""

from __future__ import annotations

import hashlib
import lzma
import os
import posixpath
import stat
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from pycortex import latexml
from pycortex.latexml import Log

__all__ = ["Document", "Documents", "Unusable", "find"]

ENTRY_LIMIT = 2000
"""Bytes of a document's name, as corpus.tasks has it."""

_DAMAGED = (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError)


class Unusable(Exception):  # noqa: N818 - says what the place is
    """There are no documents to be had in this place; its text says why."""


@dataclass(frozen=True, slots=True)
class Document:
    """
    One document.

    Attributes:
        entry: Its path inside the folder or archive.
        read: Reads its log. Never raises; what can't be read is an invalid document.
    """

    entry: str
    read: Callable[[], Log]


@dataclass(frozen=True, slots=True)
class Documents:
    """
    The documents of one place.

    Attributes:
        total: How many there are.
        open: Goes through them, in a `with`; each is to be read before the next is taken.
    """

    total: int
    open: Callable[[], AbstractContextManager[Iterator[Document]]]


def find(path: str) -> Documents:
    """
    Look what documents a folder, or an archive such as a .tar.gz, has.

    Every file is one, except those that are hidden or in a hidden folder (a name that starts with a
    dot). Links to files are followed, links to folders are not, and nothing is ever unpacked.

    Raises:
        Unusable: It isn't there, or is neither.
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        raise Unusable(f"there is no folder or archive {path}: {_reason(error)}") from None
    if stat.S_ISDIR(mode):
        return _folder(path)
    if stat.S_ISREG(mode):
        return _archive(path)
    raise Unusable(f"{path} is neither a folder nor an archive")


def _folder(top: str) -> Documents:
    found: list[Document] = []

    def unreadable(error: OSError) -> None:
        folder = os.fspath(error.filename)
        if folder == top:
            raise Unusable(f"the folder {top} can't be read: {_reason(error)}")
        entry = _entry(os.path.relpath(folder, top))
        reason = f"the folder can't be read: {_reason(error)}"
        found.append(Document(entry, lambda: latexml.invalid("unreadable", reason)))

    for folder, inner, files in os.walk(top, onerror=unreadable):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        for name in sorted(files):
            if not name.startswith("."):
                path = os.path.join(folder, name)
                found.append(_file(_entry(os.path.relpath(path, top)), path))

    @contextmanager
    def go_through() -> Iterator[Iterator[Document]]:
        yield iter(found)

    return Documents(len(found), go_through)


def _file(entry: str, path: str) -> Document:
    def read() -> Log:
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):
                return latexml.invalid("not_a_file", "it is not a file, but a pipe or a device")
            with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
                return latexml.read(file)
        except OSError as error:
            return latexml.invalid("unreadable", f"the file can't be read: {_reason(error)}")

    return Document(entry, read)


def _archive(path: str) -> Documents:
    total = 0
    try:
        with closing(tarfile.open(path)) as archive:
            for member in _members(archive):
                total += _is_document(member)
    except _DAMAGED as error:
        if total:
            raise Unusable(f"the archive {path} is damaged: {_reason(error)}") from None
        raise Unusable(
            f"{path} is neither a folder nor a readable tar archive: {_reason(error)}"
        ) from None

    @contextmanager
    def go_through() -> Iterator[Iterator[Document]]:
        with closing(tarfile.open(path)) as archive:
            yield (_member(archive, each) for each in _members(archive) if _is_document(each))

    return Documents(total, go_through)


def _members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    while (member := archive.next()) is not None:
        yield member
        cast("Any", archive).members.clear()  # it remembers all that it has seen


def _is_document(member: tarfile.TarInfo) -> bool:
    if member.isdir():
        return False
    return not any(
        part.startswith(".") and part not in (".", "..") for part in member.name.split("/")
    )


def _member(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Document:
    name = posixpath.normpath(member.name)

    def read() -> Log:
        if name.startswith("/") or name.split("/")[0] == "..":
            return latexml.invalid("not_a_file", "its name leads out of the archive")
        if member.issym() or member.islnk():
            return latexml.invalid("not_a_file", "it is a link inside an archive, not a file")
        if not member.isreg():
            return latexml.invalid("not_a_file", "it is not a file, but a pipe or a device")
        try:
            with cast("BinaryIO", archive.extractfile(member)) as file:
                return latexml.read(file)
        except _DAMAGED as error:
            return latexml.invalid("unreadable", f"the file can't be read: {_reason(error)}")

    return Document(_entry(name), read)


def _entry(name: str) -> str:
    """Make a name that a task can have: text, and short enough; different names stay different."""
    raw = os.fsencode(name)
    entry = raw.decode("utf-8", "backslashreplace").replace("\x00", "\\x00")
    whole = entry.encode()
    if len(whole) <= ENTRY_LIMIT:
        return entry
    mark = f" … {hashlib.sha256(raw).hexdigest()[:16]} … "
    half = (ENTRY_LIMIT - len(mark.encode())) // 2
    return whole[:half].decode(errors="ignore") + mark + whole[-half:].decode(errors="ignore")


def _reason(error: BaseException) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text or type(error).__name__
