"""cortex.spawn_job: what can't become a job is refused before anything is written."""

import pytest
from psycopg.types.json import Jsonb

from tests.sql.asking import job_of, refused, rows, table_of, value

MIB = 1024 * 1024


def spawn(conn, **arguments):
    named = ", ".join(f"{name} => %({name})s" for name in arguments)
    return value(conn, f"select uuid from cortex.spawn_job({named})", arguments)


def test_refuses_a_null_kind(conn):
    with refused(conn, "22004"):
        spawn(conn, kind=None)


@pytest.mark.parametrize("kind", ["", " ", "\n\t  ", "x" * 201, "é" * 201])
def test_refuses_a_kind_that_is_blank_or_too_long(conn, kind):
    with refused(conn, "22023"):
        spawn(conn, kind=kind)

    assert table_of(conn) == []


@pytest.mark.parametrize("kind", ["x", "x" * 200, "é" * 200, " x "])
def test_takes_a_kind_of_1_to_200_characters(conn, kind):
    job = spawn(conn, kind=kind)

    assert job_of(conn, job)["kind"] == kind


def test_takes_the_longest_kind_with_the_largest_scope(conn):
    scope = {"key": [i * 7919 for i in range(90)]}
    size = value(conn, "select pg_column_size(%s::jsonb)", [Jsonb(scope)])

    job = spawn(conn, kind="\U0001f600" * 200, debounce_scope=Jsonb(scope))

    assert 1300 < size <= 1500
    assert job_of(conn, job)["debounce_scope"] == scope


def test_tells_kinds_with_the_same_63_first_bytes_apart(conn):
    """I02."""
    first = spawn(conn, kind="x" * 63 + "a", debounce_scope=Jsonb({}))

    second = spawn(conn, kind="x" * 63 + "b", debounce_scope=Jsonb({}))

    assert second != first


def test_takes_an_actor_of_200_characters(conn):
    job = spawn(conn, kind="test", actor="é" * 200)

    assert job_of(conn, job)["actor"] == "é" * 200


def test_refuses_a_longer_actor(conn):
    with refused(conn, "22023"):
        spawn(conn, kind="test", actor="x" * 201)


@pytest.mark.parametrize("params", ["null", "[]", "[1]", '"x"', "1", "true"])
def test_refuses_params_that_are_not_an_object(conn, params):
    with refused(conn, "22023"):
        spawn(conn, kind="test", params=params)


@pytest.mark.parametrize("scope", ["null", "[]", '"x"', "1", "false"])
def test_refuses_a_scope_that_is_not_an_object(conn, scope):
    with refused(conn, "22023"):
        spawn(conn, kind="test", debounce_scope=scope)


@pytest.mark.parametrize("params", ["{bad", '{"a": "\\u0000"}', '{"a": NaN}', '{"a": "\\ud800"}'])
def test_never_sees_params_that_are_not_json(conn, params):
    with refused(conn, "22P02", "22P05"):
        spawn(conn, kind="test", params=params)


def test_takes_params_of_just_under_8_mib(conn):
    """E08."""
    job = spawn(conn, kind="test", params=Jsonb({"text": "x" * (8 * MIB - 100)}))

    assert value(conn, "select length(params::text) from cortex.job where uuid = %s", [job]) > MIB


def test_refuses_larger_params(conn):
    """E08."""
    with refused(conn, "22023"):
        spawn(conn, kind="test", params=Jsonb({"text": "x" * (8 * MIB + 1)}))

    assert table_of(conn) == []


@pytest.mark.parametrize("argument", ["params", "debounce_scope"])
def test_never_sees_what_is_nested_too_deeply(conn, argument):
    """E08: the server's own limit; nothing is left running or written."""
    nested = '{"x": ' + "[" * 20_000 + "]" * 20_000 + "}"

    with refused(conn, "54001"):
        spawn(conn, kind="test", **{argument: nested})

    assert table_of(conn) == []


def test_keeps_a_number_of_a_hundred_thousand_digits(conn):
    """E08."""
    job = spawn(conn, kind="test", params='{"x": 1e100000}')

    assert (
        value(conn, "select length(params->>'x') from cortex.jobs where uuid = %s", [job])
        == 100_001
    )


def test_is_not_fooled_by_params_that_are_stored_compressed(conn):
    """E08: a value that comes from a table may be a hundred times smaller there."""
    conn.execute("create temp table source (params jsonb)")
    conn.execute("insert into source values (%s)", [Jsonb({"text": "x" * (8 * MIB + 1)})])
    conn.execute("set local plan_cache_mode = force_generic_plan")

    with refused(conn, "22023"):
        conn.execute("select s.* from source, cortex.spawn_job('test', params => params) as s")


def test_refuses_a_scope_of_more_than_1500_bytes(conn):
    with refused(conn, "22023"):
        spawn(conn, kind="test", debounce_scope=Jsonb({"key": "x" * 1500}))


def test_is_not_fooled_by_a_scope_that_is_stored_compressed(conn):
    conn.execute("create temp table source (scope jsonb)")
    conn.execute("insert into source values (%s)", [Jsonb({"key": "x" * 100_000})])
    conn.execute("set local plan_cache_mode = force_generic_plan")

    with refused(conn, "22023"):
        conn.execute("select s.* from source, cortex.spawn_job('t', debounce_scope => scope) as s")


@pytest.mark.parametrize("run_at", ["infinity", "-infinity"])
def test_refuses_a_run_at_that_is_no_point_in_time(conn, run_at):
    with refused(conn, "22023"):
        spawn(conn, kind="test", run_at=run_at)


@pytest.mark.parametrize("run_at", ["4713-01-01 00:00:00+00 BC", "294276-12-31 00:00:00+00"])
def test_takes_a_run_at_from_one_end_of_time_to_the_other(conn, run_at):
    """D10."""
    spawned = "select uuid from cortex.spawn_job('test', debounce_scope => '{}', run_at => %s)"
    job = value(conn, spawned, [run_at])

    again = value(conn, spawned, [run_at])

    assert again == job


def test_refuses_a_debounce_mode_that_it_does_not_know(conn):
    with refused(conn, "22P02"):
        conn.execute("select cortex.spawn_job(kind => 'test', debounce_on => 'always')")


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII", "WIN1252"])
@pytest.mark.parametrize(
    ("arguments", "sqlstate"),
    [
        ("null", "22004"),
        ("''", "22023"),
        ("repeat('x', 201)", "22023"),
        ("'x', actor => repeat('x', 201)", "22023"),
        ("'x', params => '[]'", "22023"),
        ("'x', debounce_scope => '[]'", "22023"),
        ("'x', run_at => 'infinity'", "22023"),
        ("'x', runner => gen_random_uuid()", "JC102"),
    ],
)
def test_refuses_in_words_that_every_client_can_read(conn, encoding, arguments, sqlstate):
    """A message that can't be converted to the client's encoding comes as another error, 22P05."""
    conn.execute("select set_config('client_encoding', %s, true)", [encoding])

    with refused(conn, sqlstate):
        conn.execute(f"select cortex.spawn_job({arguments})")


@pytest.mark.parametrize("status", ["queued", "running"])
@pytest.mark.parametrize(
    ("arguments", "sqlstate"),
    [
        ("actor => repeat('x', 201)", "22023"),
        ("params => '[]'", "22023"),
        ("params => 'null'", "22023"),
        (f"params => jsonb_build_object('x', repeat('x', {9 * MIB}))", "22023"),
        ("run_at => 'infinity'", "22023"),
        ("runner => gen_random_uuid()", "JC102"),
    ],
)
def test_refuses_the_same_where_a_job_stands(conn, make_job, status, arguments, sqlstate):
    make_job(status, debounce_scope={})
    before = table_of(conn)

    with refused(conn, sqlstate):
        conn.execute(f"select cortex.spawn_job('test', debounce_scope => '{{}}', {arguments})")

    assert table_of(conn) == before


def test_writes_nothing_when_it_refuses(conn):
    with refused(conn, "22023"):
        spawn(conn, kind="test", actor="x" * 201)

    assert rows(conn, "select * from cortex.job") == []
    assert rows(conn, "select * from cortex.event") == []
