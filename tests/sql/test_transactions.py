"""No routine minds the transaction it is called in."""

from tests.sql.life import live

TRANSACTIONS_OF_THEIR_OWN = [
    ("cortex.run_analyze(uuid)",),
    ("cortex.run_populate_report(uuid)",),
    ("cortex.work(integer)",),
]
"""They run whole jobs, with a transaction for each."""


def test_no_routine_commits_by_itself(conn):
    """G07: a procedure that commits can't be called inside a transaction; only jobs run so."""
    procedures = conn.execute(
        "select p.oid::regprocedure::text from pg_proc as p"
        " where p.pronamespace in ('cortex'::regnamespace, 'corpus'::regnamespace)"
        " and p.prokind = 'p' order by 1"
    ).fetchall()

    assert procedures == TRANSACTIONS_OF_THEIR_OWN


def test_every_routine_works_inside_a_transaction_of_the_caller(fresh_conn):
    """G07."""
    with fresh_conn.transaction(force_rollback=True):
        live(fresh_conn)


def test_a_routine_works_inside_a_block_that_catches_errors(conn):
    """G07."""
    conn.execute(
        "do $$ declare job uuid; begin"
        " select s.uuid into job from cortex.spawn_job(kind => 'k') as s;"
        " perform cortex.set_running(job => job); perform cortex.maintain();"
        " begin perform cortex.finish_job(job => gen_random_uuid(), status => 'failed');"
        " exception when sqlstate 'JC101' then"
        " perform cortex.finish_job(job => job, status => 'succeeded'); end; end $$"
    )

    assert conn.execute("select status from cortex.jobs").fetchall() == [("succeeded",)]
