"""list: filters, and pages that neither repeat nor skip."""

from __future__ import annotations

import json
import re

import pytest


def uuids(listed):
    return {job["uuid"] for job in listed}


@pytest.fixture
def jobs(committed):
    """A job of each kind, status and actor."""
    made = {}
    for kind in ("a", "b", "c"):
        for status in ("failed", "succeeded", "queued"):
            for actor in ("ada", "ben"):
                uuid = committed.make_job(status, kind=kind, actor=actor)
                made[str(uuid)] = (kind, status, actor)
    return made


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ((), lambda kind, status, actor: True),
        (("--kind", "a"), lambda kind, status, actor: kind == "a"),
        (("--kind", "a", "--kind", "c"), lambda kind, status, actor: kind in "ac"),
        (("--status", "failed"), lambda kind, status, actor: status == "failed"),
        (
            ("--status", "failed", "--status", "queued", "--kind", "b"),
            lambda kind, status, actor: kind == "b" and status in ("failed", "queued"),
        ),
        (("--actor", "ada", "--active"), lambda k, s, actor: (s, actor) == ("queued", "ada")),
        (("--kind", "A"), lambda kind, status, actor: False),
        (("--actor", "a%"), lambda kind, status, actor: False),
        (("--since", "1 hour"), lambda kind, status, actor: True),
        (("--since", "2031-01-01T00:00:00Z"), lambda kind, status, actor: False),
        (("--scope", "{}"), lambda kind, status, actor: False),
    ],
)
def test_shows_what_passes_all_filters(cli_json, jobs, arguments, wanted):
    listed = cli_json("list", *arguments)

    assert uuids(listed) == {uuid for uuid, has in jobs.items() if wanted(*has)}
    assert uuids(cli_json("list", "--all", *arguments)) == uuids(listed)


def test_finds_a_scope_whatever_the_order_of_its_keys(cli_json, committed):
    job = committed.make_job("queued", debounce_scope={"a": 1, "b": [2]})
    committed.make_job("queued", debounce_scope={"a": 1})

    assert uuids(cli_json("list", "--scope", '{"b": [2.0], "a": 1}')) == {str(job)}


@pytest.mark.parametrize(
    "arguments",
    [
        ("--since", "soon"),
        ("--since", "-1 hour"),
        ("--since", "2031-01-01T00:00:00"),
        ("--since", ""),
        ("--after", "0b5f2c1e-7a34-4b7e-9c55-6f0c1f3f8a10"),
        ("--after", "2031-01-01T00:00:00/0b5f2c1e-7a34-4b7e-9c55-6f0c1f3f8a10"),
        ("--after", "2031-01-01T00:00:00Z/x"),
        ("--status", "broken"),
        ("--active", "--status", "failed"),
        ("--scope", "[]"),
        ("--limit", "-1"),
    ],
)
def test_refuses_what_makes_no_sense(cli, arguments):
    """N09"""
    result = cli("list", *arguments)

    assert (result.exit_code, result.stdout) == (2, "")


@pytest.mark.parametrize("as_json", [False, True])
def test_pages_show_each_job_once_by_what_it_says_itself(cli, committed, as_json):
    """Q04: a thousand jobs of one moment while another session spawns."""
    committed.conn.execute(
        "insert into cortex.job (kind, created_at)"
        " select 'tie', '2020-01-01 00:00+00' from generate_series(1, 1000)"
    )
    there = {str(uuid) for (uuid,) in committed.conn.execute("select uuid from cortex.job")}
    seen: list[str] = []
    after: tuple[str, ...] = ()
    while True:
        committed.conn.execute("select cortex.spawn_jobs('new', array['{}', '{}']::jsonb[])")
        result = cli("list", "--limit", "90", *after, *(["--json"] if as_json else []))
        assert result.exit_code == 0
        if as_json:
            seen += [job["uuid"] for job in json.loads(result.stdout)]
        else:
            seen += [line.split()[0] for line in result.stdout.splitlines()[1:]]
        told = re.search(r"--after (\S+)", result.stderr)
        if told is None:
            break
        after = ("--after", told[1])

    assert len(seen) == len(set(seen))
    assert there <= set(seen)


def test_a_cursor_is_what_json_says_of_the_last_job(cli_json, jobs):
    first = cli_json("list", "--limit", "5")

    rest = cli_json("list", "--after", f"{first[-1]['created_at']}/{first[-1]['uuid']}")

    assert len(rest) == len(jobs) - 5
    assert uuids(first) | uuids(rest) == set(jobs)


def test_all_is_one_array_of_more_than_a_page(cli_json, committed):
    committed.conn.execute("insert into cortex.job (kind) select 'x' from generate_series(1, 2345)")

    assert len(uuids(cli_json("list", "--all"))) == 2345


def test_all_of_nothing_is_an_empty_array(cli_json):
    assert cli_json("list", "--all", "--kind", "nosuch") == []


def test_all_ends_quietly_when_its_reader_has_had_enough(pycortex, committed):
    import subprocess
    import sys

    committed.conn.execute("insert into cortex.job (kind) select 'x' from generate_series(1, 3000)")

    done = subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -m pycortex list --all --json | head -1'],
        env=pycortex.environment,
        cwd=pycortex.folder,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.stdout, done.stderr) == ("[\n", "")


def test_pages_survive_a_purge_between_them(cli_json, committed):
    for _ in range(6):
        committed.make_job("failed", created_at="2020-01-01 00:00+00")
    first = cli_json("list", "--limit", "3")
    cursor = f"{first[-1]['created_at']}/{first[-1]['uuid']}"
    committed.conn.execute("delete from cortex.job where uuid = %s", [first[-1]["uuid"]])

    rest = cli_json("list", "--after", cursor)

    assert len(rest) == 3
    assert not uuids(rest) & uuids(first)
