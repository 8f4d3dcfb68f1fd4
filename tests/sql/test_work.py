"""cortex.work: jobs whose kind has a body inside the database, run there."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import errors

import pycortex.sql
from tests.sql.asking import rows, value
from tests.sql.bodies import done, ended, make_bodies, spawn
from tests.sql.test_settings_of_sessions import SETTINGS
from tests.waiting import wait_until


@pytest.fixture
def conn(connect):
    """A session in autocommit, in a database with bodies."""
    conn = connect(autocommit=True)
    make_bodies(conn)
    return conn


def test_runs_a_function_and_keeps_what_it_returns(conn):
    job = spawn(conn, "note", params='{"page": "it\'s"}')

    conn.execute("call cortex.work()")

    [row] = rows(
        conn,
        "select status, message, result, attempt, finished_at is not null as over"
        " from cortex.jobs where uuid = %s",
        [job],
    )
    assert row == {
        "status": "succeeded",
        "message": "",
        "result": {"was": {"page": "it's"}},
        "attempt": 1,
        "over": True,
    }
    assert done(conn) == [job]


def test_runs_a_procedure(conn):
    job = spawn(conn, "note_too")

    pycortex.sql.work(conn)

    assert ended(conn, job) == ("succeeded", "")
    assert done(conn) == [job]


def test_runs_a_procedure_that_commits(conn):
    job = spawn(conn, "commit_thrice")

    conn.execute("call cortex.work()")

    assert ended(conn, job) == ("succeeded", "")
    assert done(conn) == [job] * 3


def test_runs_as_many_jobs_as_it_is_told_to(conn):
    jobs = [spawn(conn, "note") for _ in range(5)]

    conn.execute("call cortex.work(3)")

    assert done(conn) == jobs[:3]
    assert [ended(conn, job)[0] for job in jobs] == ["succeeded"] * 3 + ["queued"] * 2


def test_takes_one_job_where_nobody_says_how_many(conn):
    jobs = [spawn(conn, "note") for _ in range(2)]

    conn.execute("call cortex.work(null)")

    assert done(conn) == jobs[:1]


def test_takes_jobs_in_the_order_of_the_queue(conn):
    late, early = spawn(conn, "note"), spawn(conn, "note_too", priority=5)

    conn.execute("call cortex.work(9)")

    assert done(conn) == [early, late]


def test_keeps_to_the_limit_of_a_kind(conn):
    conn.execute("select cortex.configure_kind('note', max_running => 1)")
    running, waiting = spawn(conn, "note"), spawn(conn, "note")
    conn.execute("select cortex.set_running(%s)", [running])

    conn.execute("call cortex.work(9)")

    assert ended(conn, waiting)[0] == "queued"
    assert done(conn) == []


def test_leaves_other_kinds_and_what_belongs_to_a_runner_alone(conn):
    runner = value(conn, "select cortex.register_runner('r', 'h', 1)")
    jobs = [
        spawn(conn, "other"),
        spawn(conn, "note", runner=runner),
        spawn(conn, "note", run_at="2100-01-01 00:00:00+00"),
    ]

    conn.execute("call cortex.work(9)")

    assert [ended(conn, job)[0] for job in jobs] == ["queued"] * 3


def test_enters_no_runner_where_there_is_nothing_to_do(conn):
    conn.execute("call cortex.work(9)")

    assert rows(conn, "select * from cortex.runners") == []


def test_leaves_nothing_behind_in_the_session(conn):
    conn.execute("set search_path = app, public")
    spawn(conn, "note")
    spawn(conn, "commit_thrice")

    conn.execute("call cortex.work(9)")

    assert value(conn, "show search_path") == "app, public"
    assert value(conn, "select count(*) from pg_locks where locktype = 'advisory'") == 0
    assert rows(conn, "select name, retired_at is not null as retired from cortex.runners") == [
        {"name": "cortex.work", "retired": True}
    ]


# What goes wrong in a body


def test_ends_a_job_failed_with_the_error_and_undoes_what_its_body_did(conn):
    job, after = spawn(conn, "fail"), spawn(conn, "note")
    warnings = []
    conn.add_notice_handler(
        lambda notice: warnings.append((notice.message_primary, notice.message_detail))
    )

    conn.execute("call cortex.work(9)")

    assert ended(conn, job) == ("failed", "no such page: 7 (SQLSTATE 22023)")
    assert done(conn) == [after]
    [(message, detail)] = warnings
    assert str(job) in message
    assert detail.startswith("page 7\nPL/pgSQL function app.fail(uuid)")


def test_tries_a_failed_job_again_as_its_kind_asks(conn):
    conn.execute("select cortex.configure_kind('fail', max_attempts => 2, backoff => '0')")
    job = spawn(conn, "fail")

    conn.execute("call cortex.work()")
    assert ended(conn, job)[0] == "queued"
    conn.execute("call cortex.work()")

    assert ended(conn, job)[0] == "failed"
    assert value(conn, "select attempt from cortex.jobs where uuid = %s", [job]) == 2


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("assert false, 'never'", "P0004"),
        ("perform 1 / 0", "22012"),
        ("raise exception using errcode = '57014', message = 'given up'", "57014"),
        ("perform 'nonsense'::integer", "22P02"),
        ("commit", "2D000"),
        ("perform set_config('role', 'nobody at all', true)", "22023"),
    ],
)
def test_catches_every_kind_of_error(conn, statement, code):
    conn.execute(
        "create function app.odd(job uuid) returns void language plpgsql"
        f" as $$ begin {statement}; end $$"
    )
    conn.execute("select cortex.register_sql_kind('odd', 'app.odd')")
    job, after = spawn(conn, "odd"), spawn(conn, "note")

    conn.execute("call cortex.work(9)")

    status, message = ended(conn, job)
    assert status == "failed"
    assert message.endswith(f"(SQLSTATE {code})")
    assert ended(conn, after)[0] == "succeeded"


def test_finds_at_the_body_what_only_a_commit_would_find(conn):
    conn.execute("create table app.page (id integer primary key)")
    conn.execute(
        "create table app.line (page integer references app.page deferrable initially deferred)"
    )
    conn.execute(
        "create function app.odd(job uuid) returns void language sql"
        " as 'insert into app.line values (1)'"
    )
    conn.execute("select cortex.register_sql_kind('odd', 'app.odd')")
    job = spawn(conn, "odd")

    conn.execute("call cortex.work()")

    assert ended(conn, job)[1].endswith("(SQLSTATE 23503)")


def test_fails_a_job_whose_body_is_gone(conn):
    conn.execute("drop function app.note(uuid)")
    job = spawn(conn, "note")

    conn.execute("call cortex.work()")

    assert ended(conn, job) == (
        "failed",
        "there is no procedure or function app.note(uuid) (SQLSTATE 42883)",
    )


def test_runs_the_body_as_it_is_now(conn):
    """Found by name at each run: replaced, or dropped and made anew."""
    conn.execute("drop function app.note(uuid)")
    conn.execute("create function app.note(job uuid) returns integer language sql as 'select 5'")
    job = spawn(conn, "note")

    conn.execute("call cortex.work()")

    assert value(conn, "select result from cortex.jobs where uuid = %s", [job]) == 5


def test_lets_the_error_of_a_body_that_commits_through_and_writes_it_down_the_next_time(conn):
    job, after = spawn(conn, "commit_and_fail"), spawn(conn, "note")

    with pytest.raises(errors.DivisionByZero):
        conn.execute("call cortex.work(9)")
    conn.execute("call cortex.work(9)")

    status, message = ended(conn, job)
    assert status == "failed"
    assert f"session {conn.info.backend_pid}" in message
    assert done(conn) == [job, after]
    assert rows(conn, "select from cortex.runners where retired_at is null") == []


def test_writes_down_an_error_in_a_session_that_lives_on_elsewhere(conn, connect):
    job = spawn(conn, "commit_and_fail")
    other = connect(autocommit=True)
    with pytest.raises(errors.DivisionByZero):
        other.execute("call cortex.work()")

    conn.execute("call cortex.work()")

    assert ended(conn, job)[0] == "failed"


def test_leaves_a_job_of_a_session_that_is_gone_to_the_upkeep(conn, connect):
    """Nobody knows what became of it, so it is interrupted, not failed."""
    conn.execute("select cortex.configure(runner_beat => '1 ms', runner_grace => '3 ms')")
    job = spawn(conn, "commit_and_fail")
    other = connect(autocommit=True)
    with pytest.raises(errors.DivisionByZero):
        other.execute("call cortex.work()")
    pid = other.info.backend_pid
    other.close()
    sessions = "select from pg_stat_activity where pid = %s"
    wait_until(lambda: rows(conn, sessions, [pid]) == [], what="the session is gone")

    conn.execute("call cortex.work()")

    status, message = ended(conn, job)
    assert status == "interrupted"
    assert "its runner cortex.work" in message


def test_calls_a_procedure_so_that_it_can_commit_where_its_text_does_not_show_it(conn):
    conn.execute(
        "create procedure app.hidden(job uuid) language plpgsql"
        " as $$ begin call app.commit_thrice(job); end $$"
    )
    conn.execute("select cortex.register_sql_kind('hidden', 'app.hidden', commits => true)")
    job = spawn(conn, "hidden")

    conn.execute("call cortex.work()")

    assert ended(conn, job)[0] == "succeeded"
    assert done(conn) == [job] * 3


def test_lets_a_body_write_its_own_end(conn):
    conn.execute(
        "create procedure app.own(job uuid) language plpgsql as $$ begin"
        " perform cortex.finish_job(job, 'failed', 'by its own word', '{\"at\": 1}'); end $$"
    )
    conn.execute("select cortex.register_sql_kind('own', 'app.own')")
    job = spawn(conn, "own")

    conn.execute("call cortex.work()")

    assert ended(conn, job) == ("failed", "by its own word")
    assert value(conn, "select result from cortex.jobs where uuid = %s", [job]) == {"at": 1}


STEPPING = """
create function app.steps(job uuid) returns text language plpgsql as $$
declare
    v_verdict cortex.verdict;
begin
    for i in 1..3 loop
        v_verdict := cortex.step(job, i, 9, 'page ' || i);
        perform cortex.step({other}, 7);
    end loop;
    {then}
    return v_verdict;
end $$;
"""


def make_stepping(conn, other="job", then=""):
    conn.execute(STEPPING.format(other=other, then=then))
    conn.execute("select cortex.register_sql_kind('steps', 'app.steps')")


def test_writes_the_last_step_of_a_body_that_does_not_commit_at_its_end(conn):
    make_stepping(conn, then="perform cortex.step(job, 8, 9);")
    job = spawn(conn, "steps")

    conn.execute("call cortex.work()")

    [row] = rows(
        conn,
        "select status, progress_current, progress_total, result from cortex.jobs where uuid = %s",
        [job],
    )
    assert row == {
        "status": "succeeded",
        "progress_current": 8,
        "progress_total": 9,
        "result": "continue",
    }


def test_keeps_the_step_of_a_body_that_steps_with_others_too(conn):
    other = spawn(conn, "other")
    conn.execute("select cortex.set_running(%s)", [other])
    conn.execute(
        "create function app.several(job uuid) returns text language sql as $$"
        f" select string_agg(concat(s.verdict, s.refusal), ' ')"
        f" from cortex.step_jobs(array[job, '{other}', null], '{{4,7,1}}', '{{9,9,9}}') as s $$"
    )
    conn.execute("select cortex.register_sql_kind('several', 'app.several')")
    job = spawn(conn, "several")

    conn.execute("call cortex.work()")

    progress = "select progress_current from cortex.jobs where uuid = %s"
    assert value(conn, progress, [other]) == 7
    assert value(conn, progress, [job]) == 4
    said = value(conn, "select result from cortex.jobs where uuid = %s", [job])
    assert said == "continue continue 22004"


def test_lets_a_body_step_for_another_job_as_ever(conn):
    other = spawn(conn, "other")
    conn.execute("select cortex.set_running(%s)", [other])
    make_stepping(conn, other=f"'{other}'")
    job = spawn(conn, "steps")

    conn.execute("call cortex.work()")

    progress = "select progress_current from cortex.jobs where uuid = %s"
    assert value(conn, progress, [other]) == 7
    assert value(conn, progress, [job]) == 3


def test_lets_a_body_step_after_one_that_did_not_commit(conn):
    make_stepping(conn)
    jobs = [spawn(conn, kind) for kind in ("steps", "commit_thrice", "fail", "commit_thrice")]

    conn.execute("call cortex.work(9)")

    assert rows(conn, "select progress_current from cortex.jobs order by created_at") == [
        {"progress_current": number} for number in (7, 3, 0, 3)
    ]
    assert len(done(conn)) == 6
    assert [ended(conn, job)[0] for job in jobs].count("succeeded") == 3


def test_tells_a_body_that_steps_of_another_attempt_to_stop(conn):
    conn.execute(
        "create function app.late(job uuid) returns text language sql"
        " as 'select cortex.step(job, 1, attempt => 7)::text'"
    )
    conn.execute("select cortex.register_sql_kind('late', 'app.late')")
    job = spawn(conn, "late")

    conn.execute("call cortex.work()")

    assert value(conn, "select result from cortex.jobs where uuid = %s", [job]) == "stop"


def test_undoes_what_a_body_did_for_an_attempt_that_is_over(conn):
    """The fence holds for the body's own work, too: it commits together with the end."""
    conn.execute(
        "create function app.lose(job uuid) returns void language plpgsql as $$ begin"
        " insert into app.done (job) values (lose.job);"
        " update cortex.job as j set attempt = j.attempt + 1 where j.uuid = lose.job; end $$"
    )
    conn.execute("select cortex.register_sql_kind('lose', 'app.lose')")
    job = spawn(conn, "lose")

    conn.execute("call cortex.work()")

    assert done(conn) == []
    assert ended(conn, job)[1].endswith("(SQLSTATE JC202)")


@pytest.mark.parametrize(("name", "setting"), SETTINGS)
def test_works_under_any_setting_and_leaves_it(conn, name, setting):
    jobs = [
        spawn(conn, kind) for kind in ("note", "note_too", "commit_thrice", "fail", "sleepless")
    ]
    conn.execute("select set_config(%s, %s, false)", [name, setting])
    if name == "default_transaction_isolation":
        conn.execute("begin; commit")
    before = value(conn, "select pg_catalog.current_setting(%s)", [name])
    analyze = value(conn, "select uuid from cortex.spawn_analyze()")

    conn.execute("call cortex.work(9)")

    outcomes = [ended(conn, job)[0] for job in [*jobs, analyze]]
    assert outcomes == ["succeeded"] * 3 + ["failed", "queued", "succeeded"]
    assert value(conn, "select pg_catalog.current_setting(%s)", [name]) == before


# Where it can't run


@pytest.mark.parametrize(
    "statement",
    [
        "call cortex.work()",
        "call cortex.work(9)",
        "do $$ begin call cortex.work(); end $$",
    ],
)
def test_says_that_it_can_not_run_inside_a_transaction(conn, statement):
    job = spawn(conn, "note")

    with pytest.raises(errors.InvalidTransactionTermination) as caught, conn.transaction():
        conn.execute(statement)

    assert caught.value.diag.message_hint
    assert ended(conn, job)[0] == "queued"


def test_says_that_it_can_not_run_inside_a_function(conn):
    conn.execute(
        "create function app.wrap() returns void language plpgsql"
        " as $$ begin call cortex.work(); end $$"
    )

    with pytest.raises(errors.InvalidTransactionTermination) as caught:
        conn.execute("select app.wrap()")

    assert "cortex.work" in caught.value.diag.message_primary


def test_can_not_run_inside_a_body_that_it_runs(conn):
    conn.execute(
        "create procedure app.again(job uuid) language plpgsql"
        " as $$ begin commit; call cortex.work(); end $$"
    )
    conn.execute("select cortex.register_sql_kind('again', 'app.again')")
    job, other = spawn(conn, "again"), spawn(conn, "note")

    with pytest.raises(errors.InvalidTransactionTermination) as caught:
        conn.execute("call cortex.work(9)")
    assert "inside a body" in caught.value.diag.message_primary
    conn.execute("call cortex.work(9)")

    assert [ended(conn, each)[0] for each in (job, other)] == ["failed", "succeeded"]


def test_runs_in_a_block_that_commits(conn):
    jobs = [spawn(conn, "note") for _ in range(2)]

    conn.execute("do $$ begin call cortex.work(); commit; call cortex.work(); end $$")

    assert done(conn) == jobs


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_runs_in_a_session_of_another_isolation(conn, isolation):
    conn.execute(f"set default_transaction_isolation = '{isolation}'")
    jobs = [spawn(conn, kind) for kind in ("note", "commit_thrice", "fail")]

    conn.execute("call cortex.work(9)")

    assert [ended(conn, job)[0] for job in jobs] == ["succeeded", "succeeded", "failed"]


@pytest.mark.parametrize("max_jobs", [0, -1])
def test_refuses_fewer_than_one_job(conn, max_jobs):
    with pytest.raises(psycopg.DataError) as caught:
        conn.execute("call cortex.work(%s::integer)", [max_jobs])

    assert caught.value.sqlstate == "22023"


# The built-in bodies


def test_analyzes_tables_and_says_which(conn):
    conn.execute('create table public."Odd name" as select generate_series(1, 10) as i')
    job = value(
        conn,
        "select uuid from cortex.spawn_analyze("
        "tables => array['corpus.tasks', 'public.\"Odd name\"'])",
    )

    conn.execute("call cortex.work()")

    [row] = rows(
        conn,
        "select status, result -> 'analyzed' as analyzed, progress_current, progress_total"
        " from cortex.jobs where uuid = %s",
        [job],
    )
    assert row == {
        "status": "succeeded",
        "analyzed": ["corpus.tasks", 'public."Odd name"'],
        "progress_current": 2,
        "progress_total": 2,
    }
    assert value(conn, "select reltuples from pg_class where relname = 'Odd name'") == 10


def test_names_the_table_that_could_not_be_analyzed_and_does_the_others(conn):
    conn.execute("create table public.gone ()")
    job = value(
        conn,
        "select uuid from cortex.spawn_analyze(tables => '{public.gone, corpus.tasks}')",
    )
    conn.execute("drop table public.gone")

    conn.execute("call cortex.work()")

    assert ended(conn, job) == (
        "failed",
        "1 of 2 tables failed: public.gone: there is no such table any more;"
        " analyzed: corpus.tasks",
    )


@pytest.mark.parametrize(
    "params", ["{}", '{"tables": []}', '{"tables": "corpus.tasks"}', '{"tables": [1]}']
)
def test_fails_an_analyze_without_tables(conn, params):
    job = spawn(conn, "analyze", params=params)

    conn.execute("call cortex.work()")

    assert ended(conn, job) == ("failed", 'params: "tables" must be a list of table names')


def test_gives_up_on_a_table_that_somebody_keeps_and_names_them(conn, connect):
    blocker = connect(application_name="the blocker")
    blocker.execute("lock table corpus.tasks in access exclusive mode")
    job = spawn(conn, "analyze", params='{"tables": ["corpus.tasks"], "lock_timeout": "50ms"}')

    conn.execute("call cortex.work()")

    status, message = ended(conn, job)
    assert status == "failed"
    assert f"in the way is session {blocker.info.backend_pid} (the blocker" in message


def test_refreshes_the_reports(conn):
    job = value(conn, "select uuid from cortex.spawn_report_refresh()")

    conn.execute("call cortex.work()")

    assert rows(conn, "select status, result from cortex.jobs where uuid = %s", [job]) == [
        {"status": "succeeded", "result": {"status": "cache-invalidated"}}
    ]


def test_populates_a_report(conn):
    corpus = value(conn, "select corpus.open_corpus('c')")
    service = value(conn, "select corpus.open_service('s')")
    conn.execute("select corpus.put_tasks(%s, %s, '{a}', '{-2}')", [corpus, service])
    conn.execute(
        "insert into corpus.log_warnings (task_id, category, what)"
        " select id, 'font', 'missing' from corpus.tasks"
    )
    job = value(
        conn,
        "select uuid from cortex.spawn_report_populate(%s, %s, 'warning')",
        [corpus, service],
    )

    conn.execute("call cortex.work()")

    assert rows(conn, "select status, result from cortex.jobs where uuid = %s", [job]) == [
        {"status": "succeeded", "result": {"populated": "warning", "rows": 3}}
    ]


def test_fails_the_report_of_a_corpus_that_is_not_there(conn):
    job = value(conn, "select uuid from cortex.spawn_report_populate(1, 1, 'warning')")

    conn.execute("call cortex.work()")

    assert ended(conn, job)[0] == "failed"
    assert ended(conn, job)[1].endswith("(SQLSTATE 22023)")


@pytest.mark.parametrize(
    "params",
    [
        "{}",
        '{"corpus_id": 1.5, "service_id": 1, "severity": "info"}',
        '{"corpus_id": 1, "service_id": "1", "severity": "info"}',
        '{"corpus_id": 1, "service_id": 1e30, "severity": "info"}',
        '{"corpus_id": 1, "service_id": 1, "severity": 3}',
    ],
)
def test_fails_the_report_of_no_slice(conn, params):
    job = spawn(conn, "populate_report", params=params)

    conn.execute("call cortex.work()")

    assert ended(conn, job)[1].endswith("(SQLSTATE 22023)")


def test_leaves_a_reindex_to_a_runner(conn):
    """REINDEX CONCURRENTLY can't run inside a transaction, so it has no body here."""
    job = value(conn, "select uuid from cortex.spawn_reindex(tables => '{corpus.tasks}')")

    conn.execute("call cortex.work()")

    assert ended(conn, job)[0] == "queued"
