"""cortex.spawn_job: when a job of the same kind and scope stands in a new one's place."""

from uuid import UUID

import pytest
from psycopg import IsolationLevel
from psycopg.types.json import Jsonb

from tests.sql.asking import job_of, rows, table_of

MODES = ["active", "queued"]
ISOLATION = {
    "read committed": IsolationLevel.READ_COMMITTED,
    "repeatable read": IsolationLevel.REPEATABLE_READ,
    "serializable": IsolationLevel.SERIALIZABLE,
}

# What stands in the scope, as (state, its own mode) -> which of them, by place, answers a spawn in
# mode active and in mode queued; None: a new job is made.
DECISIONS = [
    ([], None, None),
    ([("queued", "active")], 0, 0),
    ([("queued", "queued")], 0, 0),
    ([("running", "active")], 0, None),
    ([("running", "queued")], 0, None),
    ([("running", "active"), ("queued", "queued")], 1, 1),
    ([("running", "queued"), ("queued", "queued")], 1, 1),
    ([("succeeded", "active")], None, None),
    ([("failed", "active")], None, None),
    ([("interrupted", "queued")], None, None),
    ([("cancelled", "queued")], None, None),
    ([("succeeded", "active"), ("running", "active")], 1, None),
]


def spawn(conn, kind="test", scope=None, mode="active", **arguments):
    named = "".join(f", {name} => %({name})s" for name in arguments)
    [answer] = rows(
        conn,
        "select * from cortex.spawn_job(kind => %(kind)s, debounce_scope => %(scope)s,"
        f" debounce_on => %(mode)s{named})",
        {"kind": kind, "scope": scope, "mode": mode, **arguments},
    )
    return answer["uuid"], answer["created"]


def created(conn, *keys: tuple[str, str | None]) -> list[bool]:
    return [spawn(conn, kind, scope)[1] for kind, scope in keys]


@pytest.mark.parametrize("isolation", ISOLATION)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("decision", DECISIONS, ids=repr)
def test_decides_by_what_stands_in_the_scope(conn, make_job, decision, mode, isolation):
    """D06, D07: the caller can tell "debounced into job N" from "created"."""
    conn.isolation_level = ISOLATION[isolation]
    standing, for_active, for_queued = decision
    place = for_active if mode == "active" else for_queued
    jobs = [make_job(state, debounce_scope={}, debounce_on=own) for state, own in standing]
    before = [job_of(conn, job) for job in jobs]

    uuid, was_created = spawn(conn, scope="{}", mode=mode)

    assert was_created is (place is None)
    assert uuid not in jobs if place is None else uuid == jobs[place]
    assert [job_of(conn, job) for job in jobs] == before
    assert len(table_of(conn)) == len(jobs) + was_created


@pytest.mark.parametrize("mode", MODES)
def test_lets_the_first_call_stand(conn, mode):
    """D07: leading edge; the arguments of the first call are the ones that run."""
    first, _ = spawn(conn, scope="{}", mode=mode, actor="ada", params=Jsonb({"v": 1}), priority=5)
    before = job_of(conn, first)

    for version in range(2, 7):
        spawn(conn, scope="{}", mode=mode, actor="bob", params=Jsonb({"v": version}), priority=9)

    assert job_of(conn, first) == before
    assert len(table_of(conn)) == 1


def test_never_puts_a_job_off_however_often_it_is_asked(conn):
    """D08: what waits keeps its place and its run_at."""
    first, _ = spawn(conn, scope="{}")
    run_at = job_of(conn, first)["run_at"]

    for _ in range(10):
        spawn(conn, scope="{}", run_at="2100-01-01 00:00:00+00")

    assert job_of(conn, first)["run_at"] == run_at


def test_queues_exactly_one_follow_up_while_one_runs(conn, make_job):
    make_job("running", debounce_scope={})

    answers = [spawn(conn, scope="{}", mode="queued") for _ in range(5)]

    assert [was_created for _, was_created in answers] == [True] + [False] * 4
    assert len({uuid for uuid, _ in answers}) == 1


def test_reads_null_as_no_debounce_and_an_empty_object_as_one_per_kind(conn):
    """D03: the documented relation of missing, null and {}."""
    answers = created(
        conn,
        ("test", None),
        ("test", None),
        ("test", "{}"),
        ("test", "{}"),
        ("test", None),
        ("other", "{}"),
    )

    assert answers == [True, True, True, False, True, True]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('{"a": 1}', '{"a": 1.0}'),
        ('{"a": 1}', '{"a": 1e0}'),
        ('{"a": 100}', '{"a": 1e2}'),
        ('{"a": 0}', '{"a": -0}'),
        ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}'),
        ('{"a": {"x": 1, "y": 2}}', '{ "a":{"y":2,"x":1} }'),
        ('{"a": 1, "a": 2}', '{"a": 2}'),
        ('{"a": "\\u00e9"}', '{"a": "é"}'),
    ],
)
def test_takes_scopes_as_equal_that_jsonb_takes_as_equal(conn, first, second):
    answers = created(conn, ("test", first), ("test", second))

    assert answers == [True, False]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('{"id": 1}', "{}"),
        ('{"id": 1, "x": 2}', '{"id": 1}'),
        ('{"a": [1, 2]}', '{"a": [1]}'),
        ('{"a": [1, 2]}', '{"a": [2, 1]}'),
        ('{"a": null}', "{}"),
        ('{"a": null}', '{"a": "null"}'),
        ('{"a": 1}', '{"a": "1"}'),
        ('{"a": true}', '{"a": 1}'),
        ('{"a": ""}', '{"a": null}'),
        ('{"a": {}}', '{"a": []}'),
        ('{"a": "x,y", "b": "z"}', '{"a": "x", "b": "y,z"}'),
        ('{"a": 9007199254740993}', '{"a": 9007199254740992}'),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_takes_what_contains_a_scope_as_another_one(conn, first, second, turned):
    """D03: equality, not containment, in either order."""
    scopes = [second, first] if turned else [first, second]

    answers = created(conn, *[("test", scope) for scope in scopes])

    assert answers == [True, True]


def test_never_merges_two_kinds(conn):
    """D11: the key is a tuple, not a concatenation."""
    answers = created(
        conn,
        ("a", '{"k": "b:c"}'),
        ("a:b", '{"k": "c"}'),
        ("a", '{"k": "c"}'),
        ("b", '{"k": "c"}'),
        ('a{"k": "c"}', "{}"),
        ("a", '{"k": "b:c"}'),
    )

    assert answers == [True, True, True, True, True, False]


def test_looks_at_no_job_without_a_scope(conn, make_job):
    make_job("queued")
    make_job("running")

    _, was_created = spawn(conn, scope="{}")

    assert was_created


def test_lets_jobs_without_a_scope_be_beside_one_that_has(conn, make_job):
    make_job("queued", debounce_scope={})

    answers = [spawn(conn)[1] for _ in range(3)]

    assert answers == [True] * 3


def test_debounces_into_a_job_whose_time_has_not_come(conn):
    first, _ = spawn(conn, scope="{}", run_at="2100-01-01 00:00:00+00")

    again = spawn(conn, scope="{}")

    assert again == (first, False)


def test_debounces_into_a_job_that_belongs_to_another_runner(conn, make_job, make_runner):
    first = make_job("queued", debounce_scope={}, runner=make_runner())

    again = spawn(conn, scope="{}", runner=make_runner())

    assert again == (first, False)


def test_finds_the_job_of_a_caller_that_repeats_itself_in_one_transaction(conn):
    conn.isolation_level = IsolationLevel.SERIALIZABLE
    first, _ = spawn(conn, scope="{}")

    again = [spawn(conn, scope="{}") for _ in range(3)]

    assert again == [(first, False)] * 3


def test_debounces_within_one_statement(conn):
    answers = rows(
        conn,
        "select s.* from generate_series(1, 20) as g,"
        " lateral cortex.spawn_job('test', priority => g, debounce_scope => '{}') as s",
    )

    assert sum(answer["created"] for answer in answers) == 1
    assert len({answer["uuid"] for answer in answers}) == 1
    assert isinstance(answers[0]["uuid"], UUID)
