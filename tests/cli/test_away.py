"""A host that takes connections and never answers; and what the worker's log quotes."""

from __future__ import annotations

import json
import logging
import socket

from pycortex.cli._log import _Lines


def test_says_what_it_waits_for_and_for_how_long(pycortex):
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"postgresql://ada:geheim@127.0.0.1:{mute.getsockname()[1]}/db?connect_timeout=2"

        result = pycortex("list", env={"PYCORTEX_DATABASE_URL": url})

    waits, ends = result.stderr.splitlines()
    assert "giving up after 2 s" in waits
    assert "out of reach" in ends
    assert result.returncode == 3
    assert "geheim" not in result.stderr


def test_log_lines_quote_what_is_no_single_word():
    record = logging.LogRecord("pycortex", logging.INFO, "f", 1, "job started", (), None)
    record.kind, record.actor = 'night "ly" = export\n', "ada"

    line = _Lines().format(record)

    assert " actor=ada" in line
    assert f" kind={json.dumps(record.kind)}" in line
    assert "\n" not in line
