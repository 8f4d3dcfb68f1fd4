"""What a runner tells of its jobs: a log line for each event, and a call for whoever wants it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pycortex._log import logger

__all__ = ["RunnerEvent", "Teller"]


@dataclass(frozen=True, slots=True)
class RunnerEvent:
    """
    Something that happened to a job in this process; the fields are those of its log line.

    Attributes:
        event: "spawned", "debounced", "claimed", "started" or "ended".
        kind: The job's kind.
        actor: Who asked for it.
        job: Its handle.
        attempt: Which start of it; None before there is one.
        elapsed: Seconds that the body took; None before its end.
        status: How it ended: a state of the row; "stopped" if the row had been ended from outside,
            "lost" if it counts no more. None before its end.
        message: Why.
    """

    event: str
    kind: str
    actor: str
    job: UUID
    attempt: int | None = None
    elapsed: float | None = None
    status: str | None = None
    message: str = ""


class Teller:
    """
    Tells what happens, from whatever thread it happens in.

    Args:
        listener: Called with each event; must be quick. What it raises is logged.
    """

    def __init__(self, listener: Callable[[RunnerEvent], object] | None = None) -> None:
        self._listener = listener

    def tell(
        self,
        event: RunnerEvent,
        *,
        level: int = logging.INFO,
        error: BaseException | None = None,
        trace: str = "",
    ) -> None:
        """Log an event and call the listener; *error* or *trace* says where the body raised."""
        if logger.isEnabledFor(level):
            logger.log(
                level,
                "job %s: kind %r, actor %r, job %s%s%s%s%s",
                event.status or event.event,
                event.kind,
                event.actor,
                event.job,
                "" if event.attempt is None else f", attempt {event.attempt}",
                "" if event.elapsed is None else f", elapsed {event.elapsed:.3f} s",
                f": {event.message}" if event.message else "",
                f"\n{trace}" if trace else "",
                extra=_fields(event) | ({"trace": trace} if trace else {}),
                exc_info=error,
            )
        if self._listener is None:
            return
        try:
            self._listener(event)
        except Exception:  # noqa: BLE001 - a listener's trouble is none of the job's
            logger.exception("on_event failed at %r of job %s", event.event, event.job)


def _fields(event: RunnerEvent) -> dict[str, Any]:
    """What stands in a log record beside its message: one by one, as a copy of all takes longer."""
    return {
        "event": event.event,
        "kind": event.kind,
        "actor": event.actor,
        "job": event.job,
        "attempt": event.attempt,
        "elapsed": event.elapsed,
        "status": event.status,
    }
