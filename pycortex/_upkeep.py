"""The thread by which every runner keeps the truth; a missing pg_cron then costs only seconds."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pycortex import sql
from pycortex._log import Outage, brief, logger
from pycortex._pool import Pool, is_away

__all__ = ["Upkeep"]


class Upkeep:
    """
    Calls cortex.maintain() at every beat.

    Args:
        beat: Gives the seconds between two calls.
        closing: Set when it should end.
    """

    def __init__(
        self, pool: Pool, outage: Outage, beat: Callable[[], float], closing: threading.Event
    ) -> None:
        self._pool = pool
        self._outage = outage
        self._beat = beat
        self._closing = closing
        self._complained = False

    def run(self) -> None:
        """Keep it up until the runner closes."""
        while True:
            try:
                self._maintain()
            except Exception as error:  # noqa: BLE001 - tried again at the next beat
                self._complain(error)
            if self._closing.wait(self._beat()):
                return

    def _maintain(self) -> None:
        if self._outage.is_on("lease"):
            return  # or else it might take its own runner for dead, which only can't be heard
        done = self._pool.run(sql.maintain)
        self._outage.over("upkeep")
        self._complained = False
        if done.stale or done.orphaned or done.overdue:
            logger.info(
                "upkeep ended %d stale, %d overdue, %d orphaned jobs",
                done.stale,
                done.overdue,
                done.orphaned,
            )

    def _complain(self, error: Exception) -> None:
        if is_away(error):
            self._outage.failed("upkeep", error)
        elif not self._complained:
            self._complained = True
            logger.warning("upkeep failed, will try on: %s", brief(error))
