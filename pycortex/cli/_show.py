"""One job, whole, for people."""

import json
import sys
from collections.abc import Sequence
from datetime import datetime

from pycortex.cli._jobs import percent, progress, span
from pycortex.cli._output import clean, out, paint, wrapped
from pycortex.models import Job, JobEvent

__all__ = ["print_job"]


def print_job(job: Job, events: Sequence[JobEvent], activity: str = "") -> None:
    """Print *job* a line per fact, *activity* among them, then the history that *events* tell."""
    done = percent(job)
    facts = [
        ("uuid", str(job.uuid)),
        ("kind", job.kind),
        ("status", job.status),
        ("progress", progress(job) + ("" if done is None else f"  {done}%")),
        ("message", job.message),
        ("activity", activity),
        ("actor", job.actor),
        ("params", _json(job.params)),
        ("result", "" if job.result is None else _json(job.result)),
        ("scope", "" if job.debounce_scope is None else _json(job.debounce_scope)),
        ("priority", str(job.priority) if job.priority else ""),
        ("attempt", str(job.attempt)),
        ("runner", str(job.runner or "")),
        ("created", _moment(job.created_at)),
        ("run at", _moment(job.run_at) if job.run_at > job.created_at else ""),
        ("started", _moment(job.started_at)),
        ("updated", f"{_moment(job.updated_at)}  {span(job.seconds_since_update)} ago"),
        ("finished", _moment(job.finished_at)),
        ("cancel", _cancel(job)),
        ("duration", span(job.duration_seconds) if job.started_at else ""),
    ]
    for name, value in facts:
        if value:
            if name == "status":
                out(f"{name:<9} {paint(value, value)}")
            else:
                out(wrapped(f"{name:<9} ", clean(value), sys.stdout))
    if events:
        out()
        out("history")
        for event in events:
            words = f"  {clean(event.message)}" if event.message else ""
            words += f"  (by {clean(event.actor)})" if event.actor else ""
            line = wrapped(f"  {_moment(event.at)}  ", event.to_status + words, sys.stdout)
            out(line.replace(event.to_status, paint(event.to_status, event.to_status), 1))


def _cancel(job: Job) -> str:
    if job.cancel_requested_at is None:
        return ""
    by = f" by {job.cancel_requested_by}" if job.cancel_requested_by else ""
    return f"requested {_moment(job.cancel_requested_at)}{by}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _moment(when: datetime | None) -> str:
    return "" if when is None else when.isoformat(sep=" ", timespec="seconds")
