"""The body of kind ``dataset_export``: writes the messages of one scope to a file."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import Connection

from pycortex import _maintenance
from pycortex._copy import (
    COLUMNS,
    SEVERITIES,
    count_messages,
    messages_as_csv,
    messages_as_json,
    scope_id,
)
from pycortex._newfile import NewFile
from pycortex.errors import JobFailed
from pycortex.latexml import Severity
from pycortex.progress import JobProgress

__all__ = ["COMPRESSIONS", "FORMATS", "dataset_export"]

FORMATS = ("csv", "jsonl")
COMPRESSIONS = ("gzip", "none")

BLOCK = 2**16
"""Bytes that are compressed and written together."""

STEP = 500
"""Rows between two steps."""


def dataset_export(progress: JobProgress) -> dict[str, object]:
    """
    Write the messages of one corpus and service to a file, which is there whole or not at all.

    All of one snapshot of the database: what others change meanwhile is not in it.

    Params:
        path: Where to, as this process sees it. Below the folder that PYCORTEX_EXPORT_DIR names.
        corpus, service: Names, or numbers; service is ``latexml`` unless said.
        severity: info, warning, error, fatal, invalid, or all, which it is unless said.
        format: csv, as RFC 4180 has it, or jsonl, an object a line; csv unless said.
        compression: gzip or none; gzip unless said.
        overwrite: Whether the file may take the place of one that is there; it may not unless said.

    Returns:
        The path, rows, bytes and SHA-256 of the file, and messages by severity.

    Raises:
        JobFailed: The params, the scope or the place are no good, or the file can't be written.
    """
    params = progress.params
    path = _text(params, "path")
    format_ = _choice(params, "format", FORMATS)
    compression = _choice(params, "compression", COMPRESSIONS)
    severity = _choice(params, "severity", ("all", *(each.value for each in SEVERITIES)))
    overwrite = params.get("overwrite", False)
    if not isinstance(overwrite, bool):
        raise JobFailed(f'params: "overwrite" must be true or false, not {overwrite!r:.100}')
    wanted = SEVERITIES if severity == "all" else (Severity(severity),)

    progress.step(0, None, f"exporting to {path}")
    with (
        _maintenance.session(progress) as conn,
        NewFile(path, overwrite=overwrite) as file,
        _snapshot(conn),
    ):
        corpus_id = _scope(conn, "corpora", "corpus", params.get("corpus"))
        service_id = _scope(conn, "services", "service", params.get("service", "latexml"))
        counts = {each: count_messages(conn, corpus_id, service_id, each) for each in wanted}
        total = sum(counts.values())
        output = _Output(file, compression == "gzip")
        rows = messages_as_csv if format_ == "csv" else messages_as_json
        end = b"\r\n" if format_ == "csv" else b"\n"
        if format_ == "csv":
            output.put(",".join(COLUMNS).encode() + end)
        done = 0
        for each in wanted:
            with closing(rows(conn, corpus_id, service_id, each)) as lines:
                for line in lines:
                    if done % STEP == 0:
                        progress.step(done, total, f"exporting {each} messages")
                    output.put(line[:-1] + end)
                    done += 1
        output.end()
        progress.step(done, total, "all written, to be put in its place")
        file.commit()
    progress.step(done, total, f"{done} exported")
    return {
        "path": path,
        "format": format_,
        "compression": compression,
        "corpus_id": corpus_id,
        "service_id": service_id,
        "rows": done,
        "bytes": file.size,
        "sha256": file.sha256,
        "messages": {each.value: count for each, count in counts.items()},
    }


@contextmanager
def _snapshot(conn: Connection[Any]) -> Iterator[None]:
    """Have all that is read be of one moment."""
    conn.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    conn.read_only = True
    try:
        with conn.transaction():
            yield
    finally:
        if not conn.closed:
            conn.isolation_level = None
            conn.read_only = None


def _text(params: dict[str, Any], name: str) -> str:
    value = params.get(name)
    if value is None:
        raise JobFailed(f'params lack "{name}"')
    if not isinstance(value, str) or not value.strip():
        raise JobFailed(f'params: "{name}" must be a text, not {value!r:.100}')
    return value


def _choice(params: dict[str, Any], name: str, among: tuple[str, ...]) -> str:
    value = params.get(name, among[0])
    if value not in among:
        raise JobFailed(f'params: "{name}" must be one of {", ".join(among)}, not {value!r:.100}')
    return str(value)


def _scope(conn: Connection[Any], table: str, name: str, value: object) -> int:
    if value is None:
        raise JobFailed(f'params lack "{name}"')
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise JobFailed(f'params: "{name}" must be a name or a number, not {value!r:.100}')
    found = scope_id(conn, table, value)
    if found is None:
        raise JobFailed(f"there is no {name} {value!s:.200}")
    return found


@dataclass
class _Output:
    """Gathers lines, and writes them block by block."""

    file: NewFile
    compress: bool
    _lines: list[bytes] = field(default_factory=list)
    _size: int = 0

    def __post_init__(self) -> None:
        self._packer = zlib.compressobj(wbits=31) if self.compress else None  # 31: of gzip

    def put(self, line: bytes) -> None:
        self._lines.append(line)
        self._size += len(line)
        if self._size >= BLOCK:
            self._write()

    def end(self) -> None:
        self._write()
        if self._packer is not None:
            self.file.write(self._packer.flush())

    def _write(self) -> None:
        data = b"".join(self._lines)
        self._lines.clear()
        self._size = 0
        self.file.write(data if self._packer is None else self._packer.compress(data))
