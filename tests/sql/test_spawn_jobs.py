"""cortex.spawn_jobs: many jobs of one kind, with one statement."""

import pytest
from psycopg.types.json import Jsonb

from tests.sql.asking import refused, rows, table_of, value

SPAWN = "select cortex.spawn_jobs(kind => %s, params => %s) as uuid"
MIB = 1024 * 1024


def spawn(conn, params, kind="test"):
    return [row["uuid"] for row in rows(conn, SPAWN, [kind, [Jsonb(item) for item in params]])]


def test_queues_one_job_for_each_params_in_order(conn):
    given = [{"n": n} for n in range(500)]

    uuids = spawn(conn, given)

    jobs = table_of(conn)
    assert [job["uuid"] for job in jobs] == uuids
    assert [job["params"] for job in jobs] == given
    assert len(set(uuids)) == 500


def test_makes_jobs_like_those_of_spawn_job(conn):
    conn.execute(
        "select cortex.spawn_job('test', actor => 'ada', params => '{\"a\": 1}', priority => 7)"
    )

    conn.execute("select cortex.spawn_jobs('test', array['{\"a\": 1}']::jsonb[], 'ada', 7)")

    one, other = table_of(conn)
    own = {"id", "uuid", "created_at", "updated_at", "run_at"}
    assert {k: v for k, v in one.items() if k not in own} == {
        k: v for k, v in other.items() if k not in own
    }
    assert other["created_at"] == other["updated_at"] == other["run_at"]


def test_never_debounces(conn):
    uuids = spawn(conn, [{}, {}, {}])

    assert len(set(uuids)) == 3


def test_lets_workers_take_them_in_order(conn, make_runner):
    uuids = spawn(conn, [{"n": n} for n in range(20)])

    taken = rows(conn, "select uuid from cortex.claim_jobs(%s, '{test}', 20)", [make_runner()])

    assert [job["uuid"] for job in taken] == uuids


def test_writes_an_event_for_each(conn):
    uuids = spawn(conn, [{}, {}])

    events = rows(conn, "select job, to_status from cortex.job_events order by at")

    assert events == [{"job": uuid, "to_status": "queued"} for uuid in uuids]


def test_makes_nothing_of_nothing(conn):
    assert spawn(conn, []) == []
    assert table_of(conn) == []


def test_reads_null_for_the_actor_and_the_priority_as_their_defaults(conn):
    conn.execute("select cortex.spawn_jobs('test', array['{}']::jsonb[], null, null)")

    [job] = table_of(conn)
    assert (job["actor"], job["priority"]) == ("", 0)


@pytest.mark.parametrize(
    ("bad", "sqlstate"),
    [
        (None, "22004"),
        ([], "22023"),
        ("text", "22023"),
        (7, "22023"),
        ({"big": "x" * 8 * MIB}, "22023"),
    ],
)
def test_makes_none_where_one_is_bad_and_says_which(conn, bad, sqlstate):
    params = [Jsonb({}), Jsonb({}), None if bad is None else Jsonb(bad), Jsonb({})]

    with refused(conn, sqlstate) as caught:
        conn.execute(SPAWN, ["test", params])

    assert "3" in caught.value.diag.message_primary
    assert table_of(conn) == []


def test_refuses_a_json_null(conn):
    with refused(conn, "22023"):
        conn.execute("select cortex.spawn_jobs('test', array['null']::jsonb[])")


def test_refuses_null_for_the_kind_and_for_the_params(conn):
    with refused(conn, "22004"):
        conn.execute(SPAWN, [None, [Jsonb({})]])
    with refused(conn, "22004"):
        conn.execute(SPAWN, ["test", None])


@pytest.mark.parametrize("kind", ["", "  ", "x" * 201])
def test_refuses_a_kind_that_is_blank_or_too_long(conn, kind):
    with refused(conn, "22023"):
        conn.execute(SPAWN, [kind, [Jsonb({})]])


def test_refuses_an_actor_that_is_too_long(conn):
    with refused(conn, "22023"):
        conn.execute("select cortex.spawn_jobs('test', array['{}']::jsonb[], %s)", ["x" * 201])


def test_belongs_to_the_callers_transaction(conn):
    """D12."""
    with conn.transaction(force_rollback=True):
        spawn(conn, [{}, {}])

    assert table_of(conn) == []


def test_works_beyond_the_largest_int4(conn):
    """E14."""
    conn.execute("alter table cortex.job alter column id restart with 2147483646")

    uuids = spawn(conn, [{}] * 4)

    assert [job["uuid"] for job in table_of(conn)] == uuids


def test_keeps_ten_thousand_in_order(conn):
    uuids = rows(
        conn,
        "select s.uuid from cortex.spawn_jobs('test', array(select jsonb_build_object('n', g)"
        " from generate_series(1, 10000) as g)) with ordinality as s (uuid, place) order by place",
    )

    ordered = value(
        conn,
        "select count(*) from cortex.job as j"
        " join unnest(%s::uuid[]) with ordinality as u (uuid, place) on u.uuid = j.uuid"
        " where (j.params->>'n')::bigint = u.place",
        [[row["uuid"] for row in uuids]],
    )
    assert ordered == 10_000
