"""Documents as they lie in a folder or an archive: what is called what, and how to read it."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import os
import posixpath
import stat
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, Self, cast

from pycortex import latexml
from pycortex.latexml import Log

__all__ = ["Beat", "Document", "Documents", "File", "Unusable", "find"]

ENTRY_LIMIT = 2000
"""Bytes of a document's name, as corpus.tasks has it."""

BUFFER = 2**17
"""Bytes of an archive that are unpacked at a time."""

_DAMAGED = (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError)

Beat = Callable[[], object]
"""Is called now and then, while something long is read."""


class Unusable(Exception):  # noqa: N818 - says what the place is
    """There are no documents to be had in this place; its text says why."""


@dataclass(frozen=True, slots=True)
class File:
    """
    A document that is a file, which any process of this machine can read.

    Attributes:
        path: Where it is.
        inside: The folder that a link must not lead out of; anywhere if left out.
    """

    path: str
    inside: str | None = None

    def read(self, beat: Beat | None = None) -> Log:
        """Read its log. Never raises; what can't be read is an invalid document."""
        try:
            if self.inside is not None and not _leads_into(self.path, self.inside):
                return latexml.invalid("not_a_file", "it is a link that leads out of its folder")
            if not stat.S_ISREG(os.stat(self.path).st_mode):
                return latexml.invalid("not_a_file", "it is not a file, but a pipe or a device")
            with open(os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
                return latexml.read(file, beat)
        except OSError as error:
            return latexml.invalid("unreadable", f"the file can't be read: {_reason(error)}")


@dataclass(frozen=True, slots=True)
class Document:
    """
    One document.

    Attributes:
        entry: Its path inside the folder or archive.
        fetch: Gets what another process needs to read it: the file, or all its bytes; or its log,
            where that is known already, or takes too much room to be carried.
        size: Bytes of it, as far as they are known.
    """

    entry: str
    fetch: Callable[[Beat | None], File | bytes | Log]
    size: int = 0


@dataclass(frozen=True, slots=True)
class Documents:
    """
    The documents of one place.

    Attributes:
        total: How many there are; or were, in a folder that changes.
        open: Goes through them, in a `with`; each is to be fetched before the next is taken.
    """

    total: int
    open: Callable[[], AbstractContextManager[Iterator[Document]]]


def find(path: str, *, inside: str | None = None) -> Documents:
    """
    Look what documents a folder, or an archive such as a .tar.gz, has.

    Every file is one, except those that are hidden or in a hidden folder (a name that starts with a
    dot). Links to files are followed, links to folders are not, and nothing is ever unpacked.

    Args:
        inside: A folder that the place, and links in it, must not lead out of, and that a relative
            path is relative to.

    Raises:
        Unusable: It isn't there, or is neither; or it lies elsewhere.
    """
    try:
        if not os.path.isabs(path):
            path = os.path.join(inside or os.getcwd(), path)
        if inside is not None and not _leads_into(path, inside):
            raise Unusable(f"{path} is not in {inside}, where this process reads documents")
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        raise Unusable(f"there is no folder or archive {path}: {_reason(error)}") from None
    if stat.S_ISDIR(mode):
        return _folder(path, inside)
    if stat.S_ISREG(mode):
        return _archive(path)
    raise Unusable(f"{path} is neither a folder nor an archive")


def _folder(top: str, inside: str | None) -> Documents:
    @contextmanager
    def go_through() -> Iterator[Iterator[Document]]:
        yield _walk(top, inside)

    return Documents(sum(1 for _ in _walk(top, inside)), go_through)


def _walk(top: str, inside: str | None) -> Iterator[Document]:
    """Find the files below a folder, never holding more names than those of one folder."""
    unread: list[Document] = []

    def unreadable(error: OSError) -> None:
        folder = os.fspath(error.filename)
        if folder == top:
            raise Unusable(f"the folder {top} can't be read: {_reason(error)}")
        reason = f"the folder can't be read: {_reason(error)}"
        unread.append(_known(_entry(_below(top, folder)), latexml.invalid("unreadable", reason)))

    for folder, inner, files in os.walk(top, onerror=unreadable):
        yield from unread
        unread.clear()
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        for name in sorted(files):
            if not name.startswith("."):
                path = os.path.join(folder, name)
                yield _file(_entry(_below(top, path)), File(path, inside))
    yield from unread


def _below(top: str, path: str) -> str:
    return path[len(top) :].lstrip("/")


def _known(entry: str, log: Log) -> Document:
    return Document(entry, lambda _: log)


def _file(entry: str, file: File) -> Document:
    return Document(entry, lambda _: file)


def _leads_into(path: str, folder: str) -> bool:
    real, top = os.path.realpath(path), os.path.realpath(folder)
    return os.path.commonpath([real, top]) == top


def _archive(path: str) -> Documents:
    total = 0
    try:
        with _opened(path) as archive:
            for member in _members(archive):
                total += _is_document(member)
            while cast("BinaryIO", archive.fileobj).read(BUFFER):
                pass  # what tells whether it was unpacked rightly comes last
    except _DAMAGED as error:
        if total:
            raise Unusable(f"the archive {path} is damaged: {_reason(error)}") from None
        raise Unusable(
            f"{path} is neither a folder nor a readable tar archive: {_reason(error)}"
        ) from None

    @contextmanager
    def go_through() -> Iterator[Iterator[Document]]:
        with ExitStack() as stack:
            try:
                archive = stack.enter_context(_opened(path))
            except _DAMAGED as error:
                raise Unusable(f"the archive {path} is gone: {_reason(error)}") from None
            yield _each_member(archive, path)

    return Documents(total, go_through)


class _Header(tarfile.TarInfo):
    """Reads of a plain header what a document needs, which takes a quarter of the time."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        kind = bytes(buf[156:157])
        if kind in (b"0", b"x") and len(buf) == tarfile.BLOCKSIZE and buf[257:263] == b"ustar\0":
            try:
                size = int(buf[124:136].rstrip(b"\0 "), 8)
                checksum = int(buf[148:156].rstrip(b"\0 "), 8)
            except ValueError:
                checksum = size = -1
            if size >= 0 and checksum == sum(buf) - sum(buf[148:156]) + 8 * ord(" "):
                names = [bytes(buf[a:b]).partition(b"\0")[0] for a, b in ((345, 500), (0, 100))]
                header = cls(b"/".join(filter(None, names)).decode(encoding, errors))
                header.size, header.type = size, kind
                return header
        try:
            return super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if buf == bytes(tarfile.BLOCKSIZE):  # the end, as it should be
                raise
            # To tarfile that would be the end of the archive as well, but for the first header.
            raise tarfile.ReadError(str(error) if buf else "it has no end, as if cut off") from None


@contextmanager
def _opened(path: str) -> Iterator[tarfile.TarFile]:
    with ExitStack() as stack:
        source: BinaryIO | None = None
        with open(path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        if packed:
            unpacked = stack.enter_context(gzip.open(path))
            source = cast("BinaryIO", io.BufferedReader(cast("Any", unpacked), BUFFER))
        yield stack.enter_context(
            tarfile.open(
                None if packed else path, "r:" if packed else "r", fileobj=source, tarinfo=_Header
            )
        )


def _each_member(archive: tarfile.TarFile, path: str) -> Iterator[Document]:
    members = _members(archive)
    while True:
        try:
            member = next(members, None)
        except _DAMAGED as error:
            raise Unusable(f"the archive {path} is damaged: {_reason(error)}") from None
        if member is None:
            return
        if _is_document(member):
            yield _member(archive, member)


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

    def fetch(beat: Beat | None) -> bytes | Log:
        if name.startswith("/") or name.split("/")[0] == "..":
            return latexml.invalid("not_a_file", "its name leads out of the archive")
        if member.issym() or member.islnk():
            return latexml.invalid("not_a_file", "it is a link inside an archive, not a file")
        if not member.isreg():
            return latexml.invalid("not_a_file", "it is not a file, but a pipe or a device")
        try:
            with cast("BinaryIO", archive.extractfile(member)) as file:
                if member.size < latexml.WHOLE_LIMIT:
                    return file.read()
                return latexml.read(file, beat)
        except _DAMAGED as error:
            return latexml.invalid("unreadable", f"the file can't be read: {_reason(error)}")

    return Document(_entry(name), fetch, member.size)


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
