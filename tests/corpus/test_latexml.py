"""The parser of conversion logs, on the real ones and on what could be in their place."""

from __future__ import annotations

import re
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycortex import latexml
from pycortex._data import data_path
from pycortex.latexml import Message, Severity, Status

LOGS = sorted(data_path("latexml-logs").iterdir())

HEAD = b"latexml (LaTeXML version 0.8.7) processing x.tex\n"


def read(text: bytes) -> latexml.Log:
    return latexml.read(BytesIO(text))


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_parse_finds_the_messages_that_grep_counts(path):
    raw = path.read_bytes()

    log = read(raw)

    counted = {s: len(re.findall(b"(?m)^%s:" % s.capitalize().encode(), raw)) for s in Severity}
    found = {s: sum(message.severity is s for message in log.messages) for s in Severity}
    assert found == counted
    assert log.complete


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_parse_agrees_with_the_summary_that_the_log_ends_with(path):
    summary = path.read_text(encoding="utf-8").rstrip("\n").rpartition("\n")[2]

    log = read(path.read_bytes())

    claimed = [
        int(found[1]) if (found := re.search(rf"(\d+) {word}", summary)) else 0
        for word in ("warning", "error", "fatal error")
    ]
    severities = (Severity.WARNING, Severity.ERROR, Severity.FATAL)
    assert [sum(m.severity is s for m in log.messages) for s in severities] == claimed


def test_parse_knows_what_became_of_each_sample():
    statuses = [read(path.read_bytes()).status for path in LOGS]

    counted = {status.name: statuses.count(status) for status in Status}
    assert counted == {
        "TODO": 0, "NO_PROBLEM": 6, "WARNING": 9, "ERROR": 19, "FATAL": 6, "INVALID": 0,
    }  # fmt: skip


def test_parse_takes_a_message_apart():
    log = read(
        HEAD + b"(Loading x.sty...\n"
        b"Error:undefined:\\foo:{a.b} The token is not defined.\n"
        b"\tat x.tex; line 1\n"
        b"\t <= Core::Stomach\n"
        b" 0.01 sec)\n"
        b"Conversion complete 1 error (reqd. 0.1s)\n"
    )

    assert log.status is Status.ERROR
    assert log.complete
    assert log.messages == (
        Message(
            Severity.ERROR,
            "undefined",
            "\\foo:{a.b}",
            "The token is not defined.\nat x.tex; line 1\n <= Core::Stomach",
        ),
    )


@pytest.mark.parametrize(
    ("line", "category", "what", "details"),
    [
        (b"Warning:expected:<number>", "expected", "<number>", ""),
        (b"Warning:expected: nothing named", "expected", "", "nothing named"),
        (b"Warning:expected:", "expected", "", ""),
        (b"Warning::odd", "", "odd", ""),
        (b"Warning:oddity without a second colon", "oddity", "", "without a second colon"),
        (b"Warning:a b c:d, e", "a b c", "d,", "e"),
        (b"Warning:undefined:\\x\ttab", "undefined", "\\x", "tab"),
    ],
)
def test_parse_reads_names_up_to_the_colon_and_the_blank(line, category, what, details):
    [message] = read(HEAD + line + b"\n").messages

    assert message == Message(Severity.WARNING, category, what, details)


@pytest.mark.parametrize(
    "line",
    [
        b"(Loading x... Error:undefined:\\x no",
        b" Error:undefined:\\x no",
        b"\tError:undefined:\\x no",
        b"error:undefined:\\x no",
        b"Error: says the author",
        b"Error:",
        b"Errors:undefined:\\x no",
        b"Package babel Error:undefined:x no",
    ],
)
def test_parse_takes_nothing_for_a_message_that_is_not_at_the_margin(line):
    log = read(HEAD + line + b"\n")

    assert log.messages == ()
    assert log.status is Status.NO_PROBLEM


def test_parse_keeps_tex_that_a_message_quotes_over_several_lines():
    log = read(
        HEAD + b"Error:expected:x Missing\n\tNext token is more: \\one\n\\two\n\n(a) three\n"
        b"\tIn Core::Gullet\nVERSION\n 0.01 sec)\n\tstray\n"
    )

    [message] = log.messages
    assert message.details == (
        "Missing\nNext token is more: \\one\n\\two\n\n(a) three\nIn Core::Gullet"
    )


def test_parse_sees_a_message_behind_a_note_that_is_still_open():
    log = read(b"(Processing content x.tex...\nFatal:terminate:terminated Conversion\n\tat x\n")

    assert [message.severity for message in log.messages] == [Severity.FATAL]
    assert not log.complete


def test_parse_takes_a_log_that_was_cut_off_by_its_worst_message():
    whole = LOGS[0].read_bytes()

    log = read(whole[: whole.index(b"Error:") + 20])

    assert not log.complete
    assert log.status is Status.ERROR


@pytest.mark.parametrize("text", [b"", b"\n\n", b"  \r\n\t\n", b"\xef\xbb\xbf"])
def test_parse_calls_an_empty_file_invalid(text):
    log = read(text)

    assert log.status is Status.INVALID
    assert [(m.severity, m.what) for m in log.messages] == [(Severity.INVALID, "empty")]


@pytest.mark.parametrize(
    "text",
    [
        b"# Notes\n\nWarning: handle with care\n",
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
        HEAD.decode().encode("utf-16"),
        b"(Buildings and their owners)\n",
        b"\x00" * 100_000,
        b"Error:something went wrong: very\n",
    ],
)
def test_parse_calls_what_is_no_log_invalid_and_says_so(text):
    log = read(text)

    assert log.status is Status.INVALID
    assert [m.what for m in log.messages] == ["not_a_log"]


def test_parse_reads_windows_line_ends_and_a_byte_order_mark():
    log = read(b"\xef\xbb\xbf" + HEAD + b"Info:latex:x Hello\r\n\tat y\r\nConversion complete\r\n")

    assert log.messages == (Message(Severity.INFO, "latex", "x", "Hello\nat y"),)
    assert log.complete


def test_parse_replaces_what_postgresql_cannot_hold():
    log = read(HEAD + b"Error:\xff:\x00a \xc3\xa4 \xed\xa0\x80 \x00\n")

    [message] = log.messages
    assert (message.category, message.what) == ("\ufffd", "\ufffda")
    assert message.details == "ä \ufffd\ufffd\ufffd \ufffd"


def test_parse_cuts_long_text_with_a_mark():
    log = read(
        HEAD + b"Error:" + b"c" * 101 + b":" + b"w" * 201 + b" " + b"d" * 1000 + b"\n"
        b"\t" + b"e" * 5000 + b"\n"
    )

    [message] = log.messages
    assert message.category == "c" * 99 + "…"
    assert message.what == "w" * 199 + "…"
    assert message.details == "d" * 1000 + "\n" + "e" * 998 + "…"


@pytest.mark.parametrize("size", [100, 200, 2000])
def test_clip_leaves_alone_what_just_fits(size):
    assert latexml.clip("ä" * size, size) == "ä" * size
    assert latexml.clip("ä" * (size + 1), size) == "ä" * (size - 1) + "…"


@pytest.mark.parametrize(
    "text",
    [
        b"Error:" * 4_000_000,
        b"Error:a:b " + b"(" * 20_000_000,
        b"\t" * 20_000_000,
        b"Error:a:b c\n" + b"\n" * 2_000_000,
        b"Error:a:b c\n" + b"\tdetails\n" * 1_000_000,
        b" sec)" * 4_000_000,
    ],
)
@pytest.mark.timeout(60)
def test_read_takes_long_lines_and_many_in_linear_time_and_little_memory(text):
    log = read(text)

    assert all(len(message.details) <= latexml.DETAILS_LIMIT for message in log.messages)


@given(st.binary(max_size=300), st.sampled_from([b"", HEAD, HEAD + b"Error:a:b c\n\td\n"]))
def test_read_makes_something_storable_of_any_bytes(text, head):
    log = read(head + text)

    assert log.status in Status
    assert (log.status is Status.INVALID) == any(
        m.severity is Severity.INVALID for m in log.messages
    )
    for message in log.messages:
        for value, limit in (
            (message.category, latexml.CATEGORY_LIMIT),
            (message.what, latexml.WHAT_LIMIT),
            (message.details, latexml.DETAILS_LIMIT),
        ):
            assert len(value) <= limit
            assert "\x00" not in value
            value.encode()


LINES = st.one_of(
    st.sampled_from(
        [
            "Error:a:b c", "Warning:d:\\e f", "Info:g:h", "Fatal:i:j k", "Error: no", "Error:",
            "Info:only text", "Error::x", "Error:a b:c d", "Warning:x:\ty", "\tat x; line 1", "\t",
            "", " ", "text", "(Loading x...", "(Digesting y", " 0.01 sec)", " ... sec)",
            "Conversion complete: ok", "Conversion failed", "latexml (LaTeXML version 0.8.7)",
            "\tError:not:one", "xError:no:no", "\ufeffError:a:b", "ä", "\t\x00",
        ]
    ),
    st.text(alphabet="ab:\t \r\x00ä\\", max_size=12),
    st.integers(1, 300).map(lambda count: "\t" + "long " * count),
    st.integers(3000, 9000).map(lambda count: "Error:a:b " + "x" * count),
)  # fmt: skip


@given(st.lists(LINES, max_size=30), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
def test_parse_whole_finds_what_parse_finds_line_by_line(said, newline, last, marked):
    text = newline.join(said) + (newline if last else "")
    data = (b"\xef\xbb\xbf" if marked else b"") + text.encode()

    assert latexml.parse_whole(data) == latexml.parse(latexml.lines(BytesIO(data)))


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_parse_whole_reads_the_real_logs_as_parse_does(path):
    data = path.read_bytes()

    assert latexml.parse_whole(data) == latexml.parse(latexml.lines(BytesIO(data)))


@given(st.integers(1, 5000), st.binary(max_size=200))
def test_read_resumes_a_long_log_where_it_was_broken(limit, more):
    data = b"latexml (LaTeXML version 1)\nError:a:b c\n\td\n" * 90 + more
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(latexml, "WHOLE_LIMIT", limit)
        patch.setattr(latexml, "_USUAL", min(limit, 100))
        beats = []
        log = latexml.read(BytesIO(data), lambda: beats.append(1))

    assert log == latexml.parse(latexml.lines(BytesIO(data)))
    assert beats or limit > 2000
