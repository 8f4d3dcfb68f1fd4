"""The picture in the README: of a real run, small, and silent about the machine it was made on."""

from __future__ import annotations

import html
import re
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "images" / "watch.svg"
SVG = "{http://www.w3.org/2000/svg}"


def words() -> str:
    tree = ElementTree.parse(PICTURE)
    return "\n".join("".join(text.itertext()) for text in tree.iter(f"{SVG}text"))


def test_shows_what_the_command_shows():
    shown = html.unescape(words()).replace("\xa0", " ")

    for part in ("running", "queued", "in the last hour", "runner", "RATE", "LEFT", "BEAT", "━"):
        assert part in shown
    assert re.search(r"CREATE INDEX: building", shown)


def test_is_small_and_fetches_nothing():
    text = PICTURE.read_text(encoding="utf-8")

    assert len(text) < 40_000
    assert "@font-face" not in text
    assert "url(http" not in text
    assert "<script" not in text


def test_names_no_machine_and_no_folder():
    """A path begins with a slash, a host comes behind an @ or in a URL."""
    assert not re.search(r"(^|\s)/\w|@|://", words())


def test_stands_in_the_readme():
    assert "](docs/images/watch.svg)" in (ROOT / "README.md").read_text(encoding="utf-8")
