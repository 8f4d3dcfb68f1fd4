"""cortex.spawn_job: what a new job looks like, and what part of a transaction it is."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from psycopg.types.json import Jsonb

from tests.sql.asking import job_of, refused, rows, table_of, value

SPAWN = "select * from cortex.spawn_job(kind => 'test')"


def test_queues_a_job_and_says_that_it_did(conn):
    [answer] = rows(conn, SPAWN)

    job = job_of(conn, answer["uuid"])
    assert answer["created"] is True
    assert job == job | {
        "uuid": answer["uuid"],
        "kind": "test",
        "status": "queued",
        "progress_current": 0,
        "progress_total": None,
        "message": "",
        "actor": "",
        "params": {},
        "result": None,
        "started_at": None,
        "finished_at": None,
        "attempt": 0,
        "priority": 0,
        "debounce_scope": None,
        "debounce_on": "active",
        "runner": None,
        "cancel_requested_at": None,
    }


def test_gives_all_three_times_of_a_new_job_the_same_instant(conn):
    before = value(conn, "select clock_timestamp()")

    job = job_of(conn, value(conn, "select uuid from cortex.spawn_job(kind => 'test')"))

    assert job["created_at"] == job["updated_at"] == job["run_at"] > before


def test_takes_every_argument_by_name(conn, make_runner):
    runner = make_runner()

    uuid = value(
        conn,
        """
        select uuid from cortex.spawn_job(
            kind => 'test',
            actor => 'ada',
            params => '{"path": "/data", "deep": [1, {"x": null}]}',
            debounce_scope => '{"corpus": 7}',
            debounce_on => 'queued',
            run_at => '2100-01-01 00:00:00+00',
            priority => -3,
            runner => %s
        )
        """,
        [runner],
    )

    job = job_of(conn, uuid)
    assert job["actor"] == "ada"
    assert job["params"] == {"path": "/data", "deep": [1, {"x": None}]}
    assert job["debounce_scope"] == {"corpus": 7}
    assert job["debounce_on"] == "queued"
    assert job["run_at"] == datetime(2100, 1, 1, tzinfo=UTC)
    assert job["priority"] == -3
    assert job["runner"] == runner


def test_takes_every_argument_by_position(conn):
    uuid = value(
        conn,
        "select uuid from cortex.spawn_job('test', 'ada', '{}', '{}', 'queued', null, 4, null)",
    )

    job = job_of(conn, uuid)
    assert (job["kind"], job["actor"], job["priority"]) == ("test", "ada", 4)


def test_reads_null_as_the_default_of_an_argument(conn):
    uuid = value(
        conn,
        """
        select uuid from cortex.spawn_job(
            kind => 'test', actor => null, params => null, debounce_scope => null,
            debounce_on => null, run_at => null, priority => null, runner => null
        )
        """,
    )

    job = job_of(conn, uuid)
    assert (job["actor"], job["params"], job["priority"]) == ("", {}, 0)
    assert (job["debounce_scope"], job["debounce_on"]) == (None, "active")
    assert job["run_at"] == job["created_at"]


def test_makes_one_job_per_call_without_a_scope(conn):
    first = value(conn, "select uuid from cortex.spawn_job(kind => 'test')")

    [second] = rows(conn, SPAWN)

    assert second["created"] is True
    assert second["uuid"] != first


def test_leaves_no_trace_when_its_transaction_rolls_back(conn):
    """D12."""
    spawn = "select * from cortex.spawn_job(kind => 'test', debounce_scope => '{\"key\": 1}')"
    with conn.transaction(force_rollback=True):
        [lost] = rows(conn, spawn)

    [again] = rows(conn, spawn)

    assert again["created"] is True
    assert again["uuid"] != lost["uuid"]
    assert len(table_of(conn)) == 1


def test_refuses_to_write_in_a_read_only_transaction(conn):
    conn.execute("set transaction read only")

    with refused(conn, "25006"):
        conn.execute(SPAWN)


def test_works_from_a_trigger(conn):
    conn.execute("create temp table document (name text)")
    conn.execute(
        """
        create function pg_temp.on_insert() returns trigger language plpgsql as $$
        begin
            perform cortex.spawn_job('index', params => jsonb_build_object('name', new.name));
            return new;
        end
        $$
        """
    )
    conn.execute(
        "create trigger t after insert on document"
        " for each row execute function pg_temp.on_insert()"
    )

    conn.execute("insert into document values ('a'), ('b')")

    assert [job["params"]["name"] for job in table_of(conn)] == ["a", "b"]


def test_belongs_to_its_runner_from_the_start(conn, make_runner):
    runner = make_runner()

    uuid = value(conn, "select uuid from cortex.spawn_job(kind => 'test', runner => %s)", [runner])

    claimed = rows(conn, "select * from cortex.claim_jobs(%s, '{test}')", [make_runner()])
    assert job_of(conn, uuid)["runner"] == runner
    assert claimed == []


def test_refuses_a_runner_that_never_was(conn):
    with refused(conn, "JC102"):
        conn.execute("select cortex.spawn_job(kind => 'test', runner => %s)", [uuid4()])

    assert table_of(conn) == []


def test_refuses_a_runner_that_has_retired(conn, make_runner):
    runner = make_runner(retired_at="2020-01-01 00:00:00+00")

    with refused(conn, "JC102"):
        conn.execute("select cortex.spawn_job(kind => 'test', runner => %s)", [runner])


def test_keeps_large_integers_and_long_decimals_exactly(conn):
    """E10."""
    params = '{"id": 9007199254740993, "amount": 0.1000000000000000055}'

    uuid = value(conn, "select uuid from cortex.spawn_job('test', params => %s)", [params])

    kept = value(conn, "select params::text from cortex.job where uuid = %s", [uuid])
    assert kept == '{"id": 9007199254740993, "amount": 0.1000000000000000055}'


@pytest.mark.parametrize("kind", ["a_b", "100%", r"c:\tmp", "%s", "'; drop table x; --", '"', "é"])
def test_keeps_a_kind_to_the_letter(conn, kind):
    """I03."""
    uuid = value(conn, "select uuid from cortex.spawn_job(kind => %s)", [kind])

    found = rows(conn, "select uuid from cortex.jobs where kind = %s", [kind])

    assert found == [{"uuid": uuid}]


def test_keeps_two_forms_of_one_letter_apart(conn):
    """D04: bytes decide; nothing is trimmed, folded or normalised."""
    spawn = "select * from cortex.spawn_job(kind => %s, debounce_scope => %s)"
    scopes = ["\u00e9", "e\u0301", "Report", "report", "a", "a ", "a\u200b"]

    created = [rows(conn, spawn, ["test", Jsonb({"key": key})])[0]["created"] for key in scopes]
    kinds = [rows(conn, spawn, [kind, Jsonb({})])[0]["created"] for kind in scopes]

    assert created == [True] * 7
    assert kinds == [True] * 7


def test_goes_on_beyond_the_largest_int4(conn):
    """E14."""
    conn.execute("alter table cortex.job alter column id restart with 2147483640")

    for _ in range(20):
        conn.execute(SPAWN)

    assert table_of(conn)[-1]["id"] == 2147483659


def test_costs_no_number_of_the_sequence_when_it_is_debounced(conn):
    """E14."""
    spawn = "select uuid from cortex.spawn_job(kind => 'test', debounce_scope => '{}')"
    conn.execute(spawn)
    last = value(conn, "select last_value from cortex.job_id_seq")

    for _ in range(20):
        conn.execute(spawn)

    assert value(conn, "select last_value from cortex.job_id_seq") == last


def test_answers_with_a_uuid_and_a_boolean(conn):
    [answer] = rows(conn, SPAWN)

    assert isinstance(answer["uuid"], UUID)
    assert list(answer) == ["uuid", "created"]
