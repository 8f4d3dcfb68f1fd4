"""
docs/images/watch.svg, the picture in the README: the screen of a real `pycortex watch`.

    python -m tools.picture     record it anew (a part of make docs)

A server, a runner with jobs, and the command on a terminal; when the screen shows what it should,
it is written down as it stands. Nothing in it is drawn by hand, and nothing names this machine.
"""

from __future__ import annotations

import io
import itertools
import os
import re
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

import psycopg
import pyte
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.style import Style
from rich.text import Text

from pycortex import JobFailed, Runner
from pycortex.install import install
from tests.cli.screens import Emulator
from tests.servers import EmbeddedServer

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "images" / "watch.svg"
SIZE = (124, 13)
COLOURS = {"default": None, "brown": "yellow", "brightblack": "bright_black"}
FONT = re.compile(r"\s*@font-face \{\{.*?\n    \}\}", re.DOTALL)
"""Fonts from elsewhere: a viewer has a fixed-width one of its own."""


def corpus_import(progress):
    for done in range(1, 401):
        progress.step(done, 400, f"importing batch-{done:03}.zip")
        time.sleep(0.15)


def nightly_export(progress):
    for done in range(1, 90):
        progress.step(done, 90, f"writing page {done}")
        time.sleep(1)


def fetch_mirror(progress):
    progress.step(3, 8, "waiting for mirror 3")
    time.sleep(60)


def rebuild_search(progress):
    progress.step(1, 3)
    with progress.connection() as conn:
        while not progress.cancel_requested:
            conn.execute("create index on public.documents (title, n)")
            conn.execute("drop index public.documents_title_n_idx")


def page_export(progress):
    progress.step(17, 40, "page 17")
    raise JobFailed("page 17 has no title")


def play(url: str) -> Text:
    """Run jobs on an installed database, and return the screen of whoever watches."""
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("select cortex.configure_kind('fetch_mirror', stale_after => '30 seconds')")
        conn.execute("select cortex.configure_kind('nightly_export', max_running => 1)")
        conn.execute(
            "create table public.documents as"
            " select n, md5(n::text) as title from generate_series(1, 400000) as n"
        )
    with Runner(url, max_workers=8, name="worker") as runner:
        for body in (fetch_mirror, corpus_import, rebuild_search, nightly_export, page_export):
            runner.spawn(body.__name__, body, actor="ada")
        with psycopg.connect(url, autocommit=True) as conn:
            conn.execute("select cortex.spawn_jobs('send_letters', array['{}', '{}']::jsonb[])")
            conn.execute("select cortex.maintain()")
        try:
            return _watch(url)
        finally:
            threading.Thread(target=runner.shutdown, kwargs={"grace": 0}).start()


def _watch(url: str) -> Text:
    environment = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    environment |= {"PYCORTEX_DATABASE_URL": url, "PYTHONPATH": str(ROOT), "TZ": "UTC"}
    line = [sys.executable, "-m", "pycortex", "watch"]
    with tempfile.TemporaryDirectory() as home:
        environment["HOME"] = home
        with Emulator(line, env=environment, size=SIZE) as shown:
            worried = re.compile(r"fetch_mirror .* (1[6-9]|2[0-3])s ")
            shown.wait_for(
                lambda: worried.search(shown.text) and "(CREATE INDEX: building" in shown.text
            )
            return _text(shown.screen)


def _text(screen: pyte.Screen) -> Text:
    text = Text(no_wrap=True, end="")
    for row in range(screen.lines):
        cells = (screen.buffer[row][column] for column in range(screen.columns))
        for (colour, bold), group in itertools.groupby(cells, lambda cell: (cell.fg, cell.bold)):
            words = "".join(cell.data for cell in group)
            text.append(words, Style(color=COLOURS.get(colour, colour), bold=bold))
        text.append("\n")
    return text


def main() -> None:
    """Record the picture and write it."""
    with closing(EmbeddedServer()) as server:
        url = server.create("app")
        install(url)
        text = play(url)
    text.rstrip()
    console = Console(record=True, width=SIZE[0], file=io.StringIO(), force_terminal=True)
    console.print(text)
    PICTURE.parent.mkdir(exist_ok=True)
    svg = console.export_svg(
        title="pycortex watch", code_format=FONT.sub("", CONSOLE_SVG_FORMAT), unique_id="watch"
    )
    PICTURE.write_text(
        "\n".join(line.rstrip() for line in svg.splitlines()) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
