"""The helpers in sql/internal that compute something: clip, in_words, window_start, check_spawn."""

import re

import pytest

from tests.sql.asking import refused, value

CLIP = "select cortex.clip(whole => %s)"


@pytest.mark.parametrize("length", [0, 1, 3999, 4000])
def test_clip_leaves_a_text_that_fits(conn, length):
    text = "é" * length

    assert value(conn, CLIP, [text]) == text


@pytest.mark.parametrize("length", [4001, 5000, 1_000_000])
def test_clip_keeps_head_and_tail_of_a_text_that_does_not(conn, length):
    """E07, E13: with a mark that says how much is gone."""
    text = "head" + "\U0001f600" * (length - 8) + "tail"

    kept = value(conn, CLIP, [text])

    head, tail = kept.split(" … [")[0], kept.split("] … ")[1]
    gone = int(re.search(r"\[(\d+) characters cut\]", kept)[1])
    assert len(kept) <= 4000
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + len(tail) + gone == length


def test_clip_leaves_null(conn):
    assert value(conn, CLIP, [None]) is None


def test_clip_never_clips_twice(conn):
    once = value(conn, CLIP, ["x" * 100_000])

    assert value(conn, CLIP, [once]) == once


@pytest.mark.parametrize(
    ("span", "words"),
    [
        ("2 hours", "120 minutes"),
        ("1 minute", "1 minute"),
        ("60 seconds", "1 minute"),
        ("90 seconds", "90 seconds"),
        ("1 second", "1 second"),
        ("0.25 seconds", "0.25 seconds"),
        ("1 day", "1440 minutes"),
        ("1 month", "43200 minutes"),
        ("7000 years", "3681720000 minutes"),
    ],
)
def test_in_words_says_minutes_where_they_are_whole(conn, span, words):
    assert value(conn, "select cortex.in_words(span => %s::interval)", [span]) == words


@pytest.mark.parametrize("style", ["postgres", "sql_standard", "iso_8601", "postgres_verbose"])
def test_in_words_does_not_depend_on_the_sessions_style(conn, style):
    conn.execute("select set_config('intervalstyle', %s, true)", [style])

    assert value(conn, "select cortex.in_words(interval '2 hours')") == "120 minutes"


@pytest.mark.parametrize("hours", ["0.001", "1", "24", "876600"])
def test_window_start_counts_back_in_absolute_time(conn, hours):
    drift = value(
        conn,
        "select extract(epoch from clock_timestamp() - cortex.window_start(%(h)s::numeric))"
        " - %(h)s::numeric * 3600",
        {"h": hours},
    )

    assert abs(drift) < 1


@pytest.mark.parametrize(
    ("hours", "start"),
    [
        ("0", "infinity"),
        ("876600.1", "-infinity"),
        ("1e9999", "-infinity"),
        ("Infinity", "-infinity"),
    ],
)
def test_window_start_has_an_answer_at_both_ends(conn, hours, start):
    """F07."""
    assert value(conn, "select cortex.window_start(%s::numeric)::text", [hours]) == start


def test_window_start_reads_null_as_a_day(conn):
    age = value(conn, "select extract(epoch from clock_timestamp() - cortex.window_start(null))")

    assert 86_399 < age < 86_401


@pytest.mark.parametrize("hours", ["-1e-9", "-Infinity", "NaN"])
def test_window_start_refuses_what_makes_no_sense(conn, hours):
    """F07."""
    with refused(conn, "22023"):
        conn.execute("select cortex.window_start(%s::numeric)", [hours])


@pytest.mark.parametrize(
    ("kind", "label"),
    [
        ("import", "import"),
        ('say "hi"', r"say \"hi\""),
        (r"c:\tmp", r"c:\\tmp"),
        ("a\nb", r"a\nb"),
        (r"a\nb", r"a\\nb"),
        ("100%s", "100%s"),
    ],
)
@pytest.mark.parametrize("standard", ["on", "off"])
def test_prometheus_labels_escapes_what_prometheus_reads_as_an_escape(conn, kind, label, standard):
    conn.execute("select set_config('standard_conforming_strings', %s, true)", [standard])

    labels = value(conn, "select cortex.prometheus_labels(%s, 'failed')", [kind])

    assert labels == f'{{kind="{label}",status="failed"}}'


def test_lock_space_is_a_key_of_our_own(conn):
    """H08: the bytes of "cort"."""
    assert value(conn, "select cortex.lock_space()") == int.from_bytes(b"cort")


@pytest.mark.parametrize("routine", ["require_job", "require_runner"])
def test_require_tells_null_from_unknown(conn, routine):
    """B05."""
    with refused(conn, "22004"):
        conn.execute(f"select cortex.{routine}(null)")
    with refused(conn, "JC101", "JC102"):
        conn.execute(f"select cortex.{routine}(gen_random_uuid())")
