"""The body of kind ``corpus_import``: loads conversion logs as tasks and messages."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from psycopg import Connection

from pycortex import _documents, sql
from pycortex._copy import copy_messages
from pycortex.errors import JobFailed
from pycortex.latexml import Log, Severity, Status
from pycortex.progress import JobProgress

__all__ = ["corpus_import"]

BATCH_DOCUMENTS = 100
BATCH_MESSAGES = 10_000


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
        documents = _documents.find(path)
    except _documents.Unusable as error:
        raise JobFailed(str(error)) from None

    total = documents.total
    conn = progress.connection()
    store = _Store(conn, sql.open_corpus(conn, corpus), sql.open_service(conn, service))
    with documents.open() as each:
        for done, document in enumerate(each):
            progress.step(done, total, f"importing {document.entry}")
            store.put(document.entry, document.read())
    store.flush()
    progress.step(total, total, "no documents found" if not total else f"{total} imported")
    return {
        "corpus": corpus,
        "corpus_id": store.corpus_id,
        "service": service,
        "service_id": store.service_id,
        "documents": store.documents,
        "replaced": store.replaced,
        "cut_off": store.cut_off,
        "statuses": {s.name.lower(): store.statuses[s] for s in Status if s is not Status.TODO},
        "messages": {s.value: store.messages[s] for s in Severity},
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
    statuses: Counter[Status] = field(default_factory=Counter)
    messages: Counter[Severity] = field(default_factory=Counter)
    _batch: dict[str, Log] = field(default_factory=dict)
    _waiting: int = 0

    def put(self, entry: str, log: Log) -> None:
        """Take one document; of two of the same name in an archive the later one counts."""
        if entry in self._batch:
            self.flush()
        self._batch[entry] = log
        self._waiting += len(log.messages)
        if len(self._batch) >= BATCH_DOCUMENTS or self._waiting >= BATCH_MESSAGES:
            self.flush()

    def flush(self) -> None:
        """Write what waits, in one transaction, and only then count it."""
        if not self._batch:
            return
        entries = sorted(self._batch)
        with self.conn.transaction():
            tasks = sql.put_tasks(
                self.conn,
                self.corpus_id,
                self.service_id,
                entries,
                [self._batch[entry].status.value for entry in entries],
            )
            ids = {task.entry: task.task_id for task in tasks}
            for severity in Severity:
                copy_messages(
                    self.conn,
                    severity,
                    (
                        (ids[entry], message.category, message.what, message.details)
                        for entry in entries
                        for message in self._batch[entry].messages
                        if message.severity is severity
                    ),
                )
            # Last, since it waits for a report that is being counted.
            sql.invalidate_scope(self.conn, self.corpus_id, self.service_id)

        self.documents += len(entries)
        self.replaced += sum(not task.created for task in tasks)
        for log in self._batch.values():
            self.statuses[log.status] += 1
            self.cut_off += not log.complete and log.status is not Status.INVALID
            self.messages.update(message.severity for message in log.messages)
        self._batch.clear()
        self._waiting = 0
