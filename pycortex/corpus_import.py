"""The body of kind ``corpus_import``: loads conversion logs as tasks and messages."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from psycopg import Connection

from pycortex import _documents, sql
from pycortex._copy import SEVERITIES, Parsed, copy_messages
from pycortex._parsing import parse_all
from pycortex.errors import JobFailed
from pycortex.latexml import Status
from pycortex.progress import JobProgress

__all__ = ["corpus_import"]

BATCH_DOCUMENTS = 500
BATCH_BYTES = 4 * 2**20

FOLDER = "PYCORTEX_IMPORT_DIR"
"""Names the folder that imports of this process are confined to; anywhere if it isn't set."""


def corpus_import(progress: JobProgress) -> dict[str, object]:
    """
    Load a folder or a tar archive of LaTeXML's logs, one document per file.

    A document that is there already is replaced, messages and all; its old status, if it changed,
    is kept in corpus.historical_tasks. Documents that are there but not in the folder stay. Each
    batch is a transaction, so that an import that ended early can simply be run again.

    Params:
        path: The folder or archive, as this process sees it.
        corpus: Name of the corpus; made when there is none.
        service: Name of the service that wrote the logs, ``latexml`` unless said.

    Returns:
        What was loaded: documents by status, messages by severity.

    Raises:
        JobFailed: The params or the place are no good.
    """
    path = _text(progress.params, "path")
    corpus = _text(progress.params, "corpus", limit=200)
    service = _text(progress.params, "service", "latexml", limit=200)
    progress.step(0, None, f"looking for documents in {path}")
    try:
        documents = _documents.find(path, inside=os.environ.get(FOLDER) or None)
        conn = progress.connection()
        store = _Store(conn, sql.open_corpus(conn, corpus), sql.open_service(conn, service))
        at = (0, documents.total, "starting")
        with (
            documents.open() as each,
            closing(
                parse_all(
                    each,
                    documents.total,
                    beat=lambda: progress.step(*at),
                    stopped=lambda: progress.cancel_requested,
                )
            ) as ready,
        ):
            for done, (entry, document) in enumerate(ready):
                at = (done, max(done, documents.total), f"importing {entry}")
                progress.step(*at)
                store.put(entry, document)
    except _documents.Unusable as error:
        raise JobFailed(str(error)) from None
    store.flush()
    done = store.documents
    progress.step(done, done, "no documents found" if not done else f"{done} imported")
    counts = dict(zip(SEVERITIES, store.messages, strict=True))
    return {
        "corpus": corpus,
        "corpus_id": store.corpus_id,
        "service": service,
        "service_id": store.service_id,
        "documents": done,
        "replaced": store.replaced,
        "cut_off": store.cut_off,
        "statuses": {s.name.lower(): store.statuses[s] for s in Status if s is not Status.TODO},
        "messages": {severity.value: counts[severity] for severity in SEVERITIES},
    }


def _text(params: dict[str, Any], name: str, default: str | None = None, limit: int = 4096) -> str:
    value = params.get(name, default)
    if value is None:
        raise JobFailed(f'params lack "{name}"')
    if not isinstance(value, str) or not value.strip():
        raise JobFailed(f'params: "{name}" must be a text, not {value!r:.100}')
    if len(value) > limit:
        raise JobFailed(f'params: "{name}" has {len(value)} characters, {limit} are allowed')
    return value


@dataclass
class _Store:
    """Writes documents in batches, and counts what it wrote."""

    conn: Connection[Any]
    corpus_id: int
    service_id: int
    documents: int = 0
    replaced: int = 0
    cut_off: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    messages: list[int] = field(default_factory=lambda: [0] * len(SEVERITIES))
    _batch: dict[str, Parsed] = field(default_factory=dict)
    _waiting: int = 0

    def put(self, entry: str, document: Parsed) -> None:
        """Take one document; of two of the same name in an archive the later one counts."""
        if entry in self._batch:
            self.flush()
        self._batch[entry] = document
        self._waiting += document.size
        if len(self._batch) >= BATCH_DOCUMENTS or self._waiting >= BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what waits, in one transaction, and only then count it."""
        if not self._batch:
            return
        entries = sorted(self._batch)
        documents = [self._batch[entry] for entry in entries]
        with self.conn.transaction():
            tasks = sql.put_tasks(
                self.conn,
                self.corpus_id,
                self.service_id,
                entries,
                [document.status for document in documents],
            )
            ids = {task.entry: task.task_id for task in tasks}
            for number, severity in enumerate(SEVERITIES):
                rows = (
                    (ids[entry], document.rows[number])
                    for entry, document in zip(entries, documents, strict=True)
                )
                copy_messages(self.conn, severity, rows)
            # Last: it holds the slices of this corpus until the commit, and that comes soon.
            sql.invalidate_scope(self.conn, self.corpus_id, self.service_id)

        self.documents += len(entries)
        self.replaced += sum(not task.created for task in tasks)
        for document in documents:
            self.statuses[document.status] += 1
            self.cut_off += document.cut_off
            for number, count in enumerate(document.counts):
                self.messages[number] += count
        self._batch.clear()
        self._waiting = 0
