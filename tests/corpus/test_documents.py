"""What counts as a document in a folder or an archive, and what it is called."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import socket
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from pycortex import _documents
from pycortex._documents import Unusable
from pycortex._parser import log_of
from pycortex.latexml import Status

LOG = b"latexml (LaTeXML version 0.8.7) processing x.tex\nConversion complete\n"


def read_all(path: Path | str) -> dict[str, Status]:
    documents = _documents.find(str(path))
    with documents.open() as each:
        found = [(document.entry, log_of(document.fetch(None)).status) for document in each]
    assert len(found) == documents.total
    return dict(found)


def reasons(path: Path) -> dict[str, str]:
    with _documents.find(str(path)).open() as each:
        logs = [(document.entry, log_of(document.fetch(None))) for document in each]
    return {entry: log.messages[0].details for entry, log in logs if log.status is Status.INVALID}


@pytest.fixture
def archive(tmp_path) -> Callable[..., Path]:
    """Makes a .tar.gz of members: names or TarInfos, each with its bytes."""

    def make(*members: tuple[str | tarfile.TarInfo, bytes], name: str = "logs.tar.gz") -> Path:
        path = tmp_path / name
        with tarfile.open(path, "w:gz" if name.endswith("gz") else "w") as tar:
            for member, data in members:
                info = tarfile.TarInfo(member) if isinstance(member, str) else member
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        return path

    return make


def special(name: str, type_: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = type_, target
    return info


def test_find_takes_every_file_of_a_folder_by_its_path(tmp_path):
    for name in ("b.log", "a/x.log", "c/x.log", "c/d/plain"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(LOG)

    found = read_all(tmp_path)

    assert found == dict.fromkeys(["b.log", "a/x.log", "c/x.log", "c/d/plain"], Status.NO_PROBLEM)


def test_find_leaves_out_hidden_files_and_folders(tmp_path):
    for name in (".DS_Store", ".git/x.log", "a/.x.log", "a/y.log"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(LOG)

    assert list(read_all(tmp_path)) == ["a/y.log"]


def test_find_follows_links_to_files_but_never_into_folders(tmp_path):
    (tmp_path / "real.log").write_bytes(LOG)
    (tmp_path / "link.log").symlink_to("real.log")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "self.log").symlink_to("self.log")
    (tmp_path / "nowhere.log").symlink_to("gone.log")

    found = read_all(tmp_path)

    assert found == {
        "real.log": Status.NO_PROBLEM,
        "link.log": Status.NO_PROBLEM,
        "self.log": Status.INVALID,
        "nowhere.log": Status.INVALID,
    }


def test_find_waits_for_no_pipe_or_socket(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe.log")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.log")

        found = reasons(tmp_path)

    assert found == dict.fromkeys(
        ["pipe.log", "socket.log"], "it is not a file, but a pipe or a device"
    )


def test_find_says_why_a_file_cannot_be_read(tmp_path, monkeypatch):
    (tmp_path / "x.log").write_bytes(LOG)

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(_documents.os, "open", refuse)

    assert reasons(tmp_path) == {"x.log": "the file can't be read: Permission denied"}


def test_find_makes_text_of_any_file_name(tmp_path):
    (tmp_path / "plain").mkdir()
    raw = os.fsencode(tmp_path) + b"/plain/b\xffd\n.log"
    Path(os.fsdecode(raw)).write_bytes(LOG)

    assert list(read_all(tmp_path)) == ["plain/b\\xffd\n.log"]


def test_find_shortens_paths_that_no_index_can_hold_and_keeps_them_apart(archive):
    deep = "ä/" * 1500
    path = archive((deep + "x.log", LOG), (deep + "y.log", LOG))

    names = list(read_all(path))

    assert len(set(names)) == 2
    assert all(len(name.encode()) <= _documents.ENTRY_LIMIT for name in names)
    assert all(name.startswith("ä/ä/") and name.endswith((" x.log", "/x.log", "/y.log"))
               for name in names)  # fmt: skip


@pytest.mark.parametrize("name", ["logs.tar.gz", "logs.tar"])
def test_find_reads_an_archive_like_the_folder_it_was_made_of(archive, name):
    path = archive(
        (special("./", tarfile.DIRTYPE), b""),
        ("./a.log", LOG),
        ("./b/a.log", LOG),
        ("./b/.hidden", LOG),
        ("b//c.log", LOG),
        name=name,
    )

    assert read_all(path) == dict.fromkeys(["a.log", "b/a.log", "b/c.log"], Status.NO_PROBLEM)


def test_find_trusts_no_member_that_is_not_a_plain_file_inside(archive):
    path = archive(
        ("good.log", LOG),
        (special("sym.log", tarfile.SYMTYPE, "/etc/passwd"), b""),
        (special("hard.log", tarfile.LNKTYPE, "good.log"), b""),
        (special("dev.log", tarfile.CHRTYPE), b""),
        (special("fifo.log", tarfile.FIFOTYPE), b""),
        ("../out.log", LOG),
        ("a/../../out2.log", LOG),
        ("/etc/out3.log", LOG),
    )

    found = read_all(path)

    assert found.pop("good.log") is Status.NO_PROBLEM
    assert found == dict.fromkeys(
        [
            "sym.log",
            "hard.log",
            "dev.log",
            "fifo.log",
            "../out.log",
            "../out2.log",
            "/etc/out3.log",
        ],
        Status.INVALID,
    )


@pytest.mark.parametrize(
    "place", ["missing", "file.log", "empty", "nul\0", "fifo"], ids=lambda place: place.strip("\0")
)
def test_find_refuses_a_place_without_documents(tmp_path, place):
    (tmp_path / "file.log").write_bytes(LOG)
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "fifo")

    with pytest.raises(Unusable):
        _documents.find(f"{tmp_path}/{place}")


def test_find_refuses_a_damaged_archive(archive):
    path = archive(*[(f"{i}.log", LOG + os.urandom(5000)) for i in range(20)])
    path.write_bytes(path.read_bytes()[:50_000])

    with pytest.raises(Unusable, match="damaged"):
        _documents.find(str(path))


@pytest.mark.parametrize(
    "harm", ["bad header", "cut in a header", "cut between members", "cut in a document"]
)
def test_find_takes_no_harm_in_the_middle_of_an_archive_for_its_end(archive, harm):
    path = archive(*[(f"{i}.log", LOG * 20) for i in range(10)], name="logs.tar")
    data = bytearray(path.read_bytes())
    fifth = 4 * (512 + 1536)
    assert data[fifth : fifth + 5] == b"4.log"
    if harm == "bad header":
        data[fifth] += 1
    else:
        del data[fifth + {"cut in a header": 7, "cut in a document": 600}.get(harm, 0) :]
    path.write_bytes(data)

    with pytest.raises(Unusable, match="damaged"):
        _documents.find(str(path))


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
def test_find_unpacks_an_archive_to_the_end_to_know_that_it_is_whole(archive, pack):
    path = archive(("a.log", LOG), name="logs.tar")
    packed = pack(path.read_bytes() + bytes(2 * _documents.BUFFER))
    path.write_bytes(packed)
    assert read_all(path) == {"a.log": Status.NO_PROBLEM}

    path.write_bytes(packed[:-6])
    with pytest.raises(Unusable, match=r"damaged|readable"):
        _documents.find(str(path))


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_find_reads_headers_of_any_form_as_tarfile_does(tmp_path, form):
    names = ["plain", "ä/ö.log", "y" * 100, "y" * 101, f"{'d' * 100}/{'é' * 40}", "z/" * 120 + "x"]
    path = tmp_path / "logs.tar"
    with tarfile.open(path, "w", format=form) as tar:
        for number, name in enumerate(names):
            info = tarfile.TarInfo(name)
            info.size, info.mtime, info.uname = number, 1.5 + number, "somebody"
            try:
                tar.addfile(info, io.BytesIO(b"x" * number))
            except ValueError:  # too long a name for the oldest form
                assert form == tarfile.USTAR_FORMAT
    with tarfile.open(path) as tar:
        expected = [(member.name, member.size) for member in tar]
    assert len(expected) >= 4

    with _documents.find(str(path)).open() as each:
        found = [(document.entry, len(document.fetch(None))) for document in each]

    assert found == expected


def test_find_finds_nothing_in_an_empty_folder_or_archive(tmp_path, archive):
    assert _documents.find(str(archive())).total == 0
    (tmp_path / "logs.tar.gz").unlink()
    assert _documents.find(str(tmp_path)).total == 0
