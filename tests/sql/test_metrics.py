"""cortex.metrics: the state of the job system, as Prometheus reads it."""

import re
from uuid import uuid4

import pytest

from tests.sql.asking import table_of, value

METRICS = "select cortex.metrics()"
SAMPLE = re.compile(r'^([a-z_]+)(?:\{kind="((?:[^"\\\n]|\\["\\n])*)",status="(\w+)"\})? (\S+)$')


def scrape(conn):
    """The samples by (name, kind, status), after a check of the text's form."""
    text = value(conn, METRICS)
    assert text.endswith("\n")
    samples, typed = {}, []
    for line in text.splitlines():
        if line.startswith("# HELP "):
            continue
        if line.startswith("# TYPE "):
            _, _, name, kind_of = line.split(" ")
            assert kind_of == "gauge"
            typed.append(name)
            continue
        found = SAMPLE.match(line)
        assert found, line
        name, kind, status, number = found.groups()
        assert name == typed[-1], "samples stand under their own head"
        assert (name, kind, status) not in samples
        samples[name, kind, status] = float(number)
    assert len(set(typed)) == len(typed)
    return samples


def test_counts_active_jobs_by_kind_and_status(conn, make_job):
    for status in ("queued", "running", "running", "succeeded"):
        make_job(status, kind="a", silent_for="30 days")
    make_job("queued", kind="b", run_at="2100-01-01 00:00:00+00")

    samples = scrape(conn)

    active = {key[1:]: n for key, n in samples.items() if key[0] == "cortex_jobs_active"}
    assert active == {
        ("a", "queued"): 1,
        ("a", "running"): 2,
        ("b", "queued"): 1,
        ("b", "running"): 0,
    }


def test_counts_what_ended_in_the_last_hour(conn, make_job):
    for status in ("succeeded", "succeeded", "failed", "interrupted", "cancelled"):
        make_job(status, kind="a", silent_for="59 minutes")
        make_job(status, kind="a", silent_for="61 minutes")
    make_job("running", kind="b")

    samples = scrape(conn)

    ended = {key[1:]: n for key, n in samples.items() if key[0] == "cortex_jobs_finished_last_hour"}
    assert ended == {
        ("a", "succeeded"): 2,
        ("a", "failed"): 1,
        ("a", "interrupted"): 1,
        ("a", "cancelled"): 1,
        **{("b", status): 0 for status in ("succeeded", "failed", "interrupted", "cancelled")},
    }


def test_tells_how_long_the_oldest_job_has_been_ready(conn, make_job, make_runner):
    make_job("queued", silent_for="1 minute")
    make_job("queued", silent_for="10 minutes")
    make_job("queued", silent_for="1 hour", runner=make_runner(), pinned=True)
    make_job("queued", silent_for="2 hours", run_at="2100-01-01 00:00:00+00")
    make_job("running", silent_for="3 hours")

    samples = scrape(conn)

    assert 600 <= samples["cortex_oldest_ready_seconds", None, None] < 630


def test_tells_how_long_the_most_silent_running_job_has_been_silent(conn, make_job):
    make_job("running", silent_for="1 minute")
    make_job("running", silent_for="3 hours")
    make_job("queued", silent_for="1 day")

    samples = scrape(conn)

    assert 10_800 <= samples["cortex_oldest_heartbeat_seconds", None, None] < 10_830


def test_tells_when_the_upkeep_last_ran(conn):
    conn.execute("update cortex.upkeep set last_run_at = clock_timestamp() - interval '90 seconds'")

    samples = scrape(conn)

    assert 90 <= samples["cortex_last_maintenance_seconds", None, None] < 120


def test_counts_runners_that_live(conn, make_runner):
    make_runner()
    make_runner()
    make_runner(alive=False)
    make_runner(retired_at="2020-01-01 00:00:00+00")

    samples = scrape(conn)

    assert samples["cortex_runners_alive", None, None] == 2


def test_leaves_out_what_has_no_value(conn):
    """An age of nothing is no age of zero."""
    assert {name for name, _, _ in scrape(conn)} == {"cortex_runners_alive"}


@pytest.mark.parametrize("conforming", ["on", "off"])
@pytest.mark.parametrize(
    "kind", ['a"b', "a\\b", "a\nb", 'a\\"\nb', "a\\nb", "é ✓", "%s %I", "{}", "a b", "x" * 200]
)
def test_escapes_whatever_a_kind_is_called(conn, make_job, kind, conforming):
    """I03, E07."""
    make_job("queued", kind=kind)
    conn.execute(f"set local standard_conforming_strings = {conforming}")

    samples = scrape(conn)

    kinds = {
        key[1].replace("\\\\", "\0").replace('\\"', '"').replace("\\n", "\n").replace("\0", "\\")
        for key in samples
        if key[1] is not None
    }
    assert kinds == {kind}


def test_changes_nothing(conn, make_job, make_runner):
    """A11: it shows a zombie as it stands; closing it is the upkeep's."""
    make_job("running", silent_for="3 hours", runner=make_runner(alive=False))
    before = table_of(conn)

    samples = scrape(conn)

    assert table_of(conn) == before
    assert samples["cortex_jobs_active", "test", "running"] == 1


def test_works_in_a_read_only_transaction(conn, make_job):
    make_job("running")
    conn.execute("set transaction read only")

    assert scrape(conn)["cortex_jobs_active", "test", "running"] == 1


def test_writes_numbers_that_every_parser_reads(conn):
    """Also where the session has its own taste in numbers."""
    conn.execute("set local extra_float_digits = -15")
    conn.execute(
        "insert into cortex.job (kind, uuid) select 'many', gen_random_uuid()"
        " from generate_series(1, 1234)"
    )

    assert scrape(conn)["cortex_jobs_active", "many", "queued"] == 1234


def test_shows_a_clock_that_went_back_as_no_age(conn, make_job):
    """F05."""
    make_job("running", updated_at="2100-01-01 00:00:00+00", uuid=uuid4())

    assert scrape(conn)["cortex_oldest_heartbeat_seconds", None, None] == 0
