"""Texts made fit for the database."""

from __future__ import annotations

import psycopg
import pytest

from pycortex._text import MESSAGE_LIMIT, clean, describe, fit


class SilentError(Exception):
    def __str__(self):
        raise RuntimeError("no")


class ExitingError(Exception):
    def __str__(self):
        raise SystemExit(3)


def test_replaces_nul_and_lone_surrogates_only():
    """E03."""
    assert clean("a\x00b\ud800c\udcffd\U0001f600\n") == "a\ufffdb\ufffdc\ufffdd\U0001f600\n"


def test_cuts_a_long_message_in_the_middle_as_the_database_does(conn):
    """E07, E13."""
    text = "head" + "x" * 100_000 + "tail"

    fitted = fit(text)

    assert fitted.startswith("head")
    assert fitted.endswith("tail")
    assert len(fitted) <= MESSAGE_LIMIT
    assert conn.execute("select cortex.clip(%s)", [text]).fetchone() == (fitted,)


@pytest.mark.parametrize("length", [0, 1, MESSAGE_LIMIT])
def test_leaves_a_message_that_fits_alone(length):
    assert fit("é" * length) == "é" * length


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ValueError("bad"), "ValueError: bad"),
        (ValueError(), "ValueError"),
        (SilentError(), "SilentError (its text can't be had: RuntimeError)"),
        (ExitingError(), "ExitingError (its text can't be had: SystemExit)"),
        (SystemExit(3), "SystemExit: 3"),
        (OSError("\udcff.txt"), "OSError: \ufffd.txt"),
    ],
)
def test_describes_an_error_by_type_and_text(error, expected):
    """E03, E07."""
    assert describe(error) == expected


@pytest.mark.timeout(60)
def test_describes_monsters_in_bounded_time():
    """E07."""
    chain = ValueError("x" * 50_000_000)
    chain.__cause__ = chain
    texts = [
        describe(chain),
        describe(ExceptionGroup("many", [ValueError(i) for i in range(10_000)])),
    ]

    assert texts[0].startswith("ValueError: xxx")
    assert texts[1] == "ExceptionGroup: many (10000 sub-exceptions)"


def test_leaves_out_where_in_the_database_an_error_came_up(conn):
    with pytest.raises(psycopg.Error) as caught:
        conn.execute(
            "do $$ begin raise exception 'no milk' using detail = 'none at all', hint = 'buy some';"
            " end $$"
        )

    said = describe(caught.value)

    assert caught.value.diag.context in str(caught.value)
    assert said.startswith("RaiseException: no milk")
    assert "none at all" in said
    assert "CONTEXT" not in said
    assert "PL/pgSQL" not in said
