"""The constraints of the tables: no routine, now or later, can break the life of a job."""

import pytest
from psycopg import errors

from tests.sql.asking import refused, rows, value

NOW = "clock_timestamp()"


def insert(conn, table, **columns):
    names, values = ", ".join(columns), ", ".join(map(str, columns.values()))
    conn.execute(f"insert into cortex.{table} ({names}) values ({values})")


@pytest.mark.parametrize(
    ("constraint", "columns"),
    [
        ("job_kind_is_1_to_200_characters", {"kind": "''"}),
        ("job_kind_is_1_to_200_characters", {"kind": "repeat('x', 201)"}),
        ("job_actor_is_at_most_200_characters", {"actor": "repeat('x', 201)"}),
        ("job_message_is_at_most_4000_characters", {"message": "repeat('x', 4001)"}),
        ("json_object_is_an_object", {"params": "'[]'"}),
        ("json_object_is_an_object", {"params": "'null'"}),
        ("json_object_is_an_object", {"debounce_scope": "'\"x\"'"}),
        ("json_object_is_an_object", {"debounce_scope": "'null'"}),
        ("job_attempt_is_not_negative", {"attempt": -1}),
        ("job_running_implies_started", {"status": "'running'"}),
        ("job_outcome_of_a_body_implies_started", {"status": "'succeeded'", "finished_at": NOW}),
        ("job_outcome_of_a_body_implies_started", {"status": "'failed'", "finished_at": NOW}),
        ("job_terminal_exactly_when_finished", {"status": "'cancelled'"}),
        ("job_terminal_exactly_when_finished", {"status": "'interrupted'"}),
        ("job_terminal_exactly_when_finished", {"status": "'succeeded'", "started_at": NOW}),
        ("job_terminal_exactly_when_finished", {"finished_at": NOW}),
        (
            "job_terminal_exactly_when_finished",
            {"status": "'running'", "started_at": NOW, "finished_at": NOW},
        ),
        (
            "job_finished_not_before_started",
            {
                "status": "'failed'",
                "started_at": NOW,
                "finished_at": f"{NOW} - interval '1 second'",
            },
        ),
        ("job_runner_fkey", {"runner": "gen_random_uuid()"}),
    ],
)
def test_of_job_hold_the_rules_of_a_jobs_life(conn, constraint, columns):
    """A10: the table enforces it, not only the routines."""
    with refused(conn, "23514", "23503") as caught:
        insert(conn, "job", **{"kind": "'test'", **columns})

    assert caught.value.diag.constraint_name == constraint


@pytest.mark.parametrize(
    "column", ["uuid", "kind", "status", "params", "message", "actor", "run_at"]
)
def test_of_job_know_no_nulls(conn, column):
    with refused(conn, errors.NotNullViolation.sqlstate) as caught:
        insert(conn, "job", **{"kind": "'test'", column: "null"})

    assert caught.value.diag.column_name == column


@pytest.mark.parametrize(
    "status", ["queued", "running", "succeeded", "failed", "interrupted", "cancelled"]
)
def test_of_job_allow_every_state(conn, make_job, status):
    make_job(status)

    assert value(conn, "select status from cortex.job") == status


def test_of_job_allow_what_ended_before_it_started(conn, make_job):
    make_job("interrupted", started_at=None, attempt=0)
    make_job("cancelled", started_at=None, attempt=0)

    assert value(conn, "select count(*) from cortex.job where started_at is null") == 2


@pytest.mark.parametrize(
    ("stands", "comes", "index"),
    [
        (("queued", "active"), ("queued", "active"), "job_debounce_queued_key"),
        (("queued", "queued"), ("queued", "queued"), "job_debounce_queued_key"),
        (("queued", "active"), ("queued", "queued"), "job_debounce_queued_key"),
        (("running", "active"), ("running", "active"), "job_debounce_running_key"),
        (("running", "queued"), ("running", "queued"), "job_debounce_running_key"),
        (("running", "active"), ("running", "queued"), "job_debounce_running_key"),
        (("running", "active"), ("queued", "active"), "job_debounce_running_key"),
        (("running", "queued"), ("queued", "active"), "job_debounce_running_key"),
        (("queued", "active"), ("running", "queued"), "job_debounce_running_key"),
        (("running", "active"), ("queued", "queued"), None),
        (("running", "queued"), ("queued", "queued"), None),
        (("queued", "queued"), ("running", "queued"), None),
        (("queued", "queued"), ("running", "active"), None),
    ],
)
def test_of_job_hold_the_debounce(conn, make_job, stands, comes, index):
    """Never two wait, never two run, and a job of mode active waits beside none that runs."""
    make_job(stands[0], debounce_scope={"a": 1}, debounce_on=stands[1])

    if index is None:
        make_job(comes[0], debounce_scope={"a": 1}, debounce_on=comes[1])
        return
    with refused(conn, errors.UniqueViolation.sqlstate) as caught:
        make_job(comes[0], debounce_scope={"a": 1}, debounce_on=comes[1])
    assert caught.value.diag.constraint_name == index


@pytest.mark.parametrize("status", ["succeeded", "failed", "interrupted", "cancelled"])
def test_of_job_let_any_number_stand_that_are_over(conn, make_job, status):
    for _ in range(3):
        make_job(status, debounce_scope={})

    assert value(conn, "select count(*) from cortex.job") == 3


@pytest.mark.parametrize(
    ("constraint", "change"),
    [
        ("settings_stale_after_is_positive", "stale_after = '0'"),
        ("settings_keep_is_not_negative", "keep = '-1 second'"),
        ("settings_beat_is_positive", "runner_beat = '0'"),
        ("settings_grace_outlasts_three_beats", "runner_grace = runner_beat * 2"),
        ("settings_is_one_row", "only_row = false"),
    ],
)
def test_of_settings_hold_what_can_work(conn, constraint, change):
    """A03."""
    with refused(conn, "23514") as caught:
        conn.execute(f"update cortex.settings set {change}")

    assert caught.value.diag.constraint_name == constraint


@pytest.mark.parametrize("table", ["settings", "upkeep"])
def test_of_settings_and_upkeep_keep_them_at_one_row(conn, table):
    with refused(conn, errors.UniqueViolation.sqlstate):
        conn.execute(f"insert into cortex.{table} default values")


@pytest.mark.parametrize(
    ("constraint", "columns"),
    [
        ("kind_name_is_1_to_200_characters", {"name": "''"}),
        ("kind_name_is_1_to_200_characters", {"name": "repeat('x', 201)"}),
        ("kind_stale_after_is_positive", {"name": "'a'", "stale_after": "'0'"}),
        ("kind_keep_is_not_negative", {"name": "'a'", "keep": "'-1 second'"}),
    ],
)
def test_of_kind_hold_what_can_work(conn, constraint, columns):
    with refused(conn, "23514") as caught:
        insert(conn, "kind", **columns)

    assert caught.value.diag.constraint_name == constraint


@pytest.mark.parametrize(
    ("constraint", "columns"),
    [
        ("runner_name_is_1_to_200_characters", {"name": "''"}),
        ("runner_name_is_1_to_200_characters", {"name": "repeat('x', 201)"}),
        ("runner_host_is_at_most_255_characters", {"host": "repeat('x', 256)"}),
    ],
)
def test_of_runner_hold_its_names(conn, constraint, columns):
    with refused(conn, "23514") as caught:
        insert(conn, "runner", **{"name": "'a'", "host": "'h'", "pid": 1, **columns})

    assert caught.value.diag.constraint_name == constraint


def test_of_event_let_a_jobs_history_go_with_it(conn, make_job):
    make_job("succeeded")

    conn.execute("delete from cortex.job")

    assert value(conn, "select count(*) from cortex.event") == 0


def test_have_a_name_that_was_given_to_them(conn):
    """Not one that the database made up, except for keys and not null."""
    made_up = rows(
        conn,
        "select conname from pg_constraint where connamespace = 'cortex'::regnamespace"
        " and contype in ('c', 'f', 'u') and conname ~ '_(check|fkey1|key1|check1)$'",
    )

    assert made_up == []
