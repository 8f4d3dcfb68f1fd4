"""A follow-up starts after the commit of everybody who was told to rely on it."""

SPAWN = "select * from cortex.spawn_job('k', debounce_scope => '{}', debounce_on => 'queued')"
CLAIM = "select uuid from cortex.claim_jobs(runner => %s, kinds => '{k}')"
REGISTER = "select cortex.register_runner(name => 'a', host => 'h', pid => 1)"


def test_a_follow_up_waits_for_the_commit_of_who_was_debounced_into_it(connect):
    caller, worker = connect(), connect(autocommit=True)
    runner = worker.execute(REGISTER).fetchone()[0]
    [first] = worker.execute(SPAWN).fetchall()
    [answer] = caller.execute(SPAWN).fetchall()

    before = worker.execute(CLAIM, [runner]).fetchall()
    caller.commit()
    after = worker.execute(CLAIM, [runner]).fetchall()

    assert answer == (first[0], False)
    assert before == []
    assert after == [(first[0],)]


def test_the_commit_of_who_was_debounced_wakes_the_workers(connect):
    caller, ear = connect(), connect(autocommit=True)
    ear.execute(SPAWN)
    ear.execute("listen cortex_queue")
    caller.execute(SPAWN)

    early = list(ear.notifies(timeout=0))
    caller.commit()
    late = list(ear.notifies(timeout=30, stop_after=1))

    assert early == []
    assert [note.payload for note in late] == ["k"]


def test_a_waiting_job_can_be_cancelled_meanwhile(connect):
    caller, other = connect(), connect(autocommit=True)
    other.execute(SPAWN)
    [(job, _)] = caller.execute(SPAWN).fetchall()

    [(status,)] = other.execute("select cortex.cancel_job(job => %s)", [job]).fetchall()

    assert status == "cancelled"


def test_a_debounced_call_of_mode_active_locks_and_writes_nothing(connect):
    caller, other = connect(), connect(autocommit=True)
    other.execute("select * from cortex.spawn_job('k', debounce_scope => '{}')")
    other.execute("set lock_timeout = '1s'")

    [(job, created)] = caller.execute(
        "select * from cortex.spawn_job('k', debounce_scope => '{}')"
    ).fetchall()

    assert created is False
    assert other.execute("select uuid from cortex.job for update").fetchall() == [(job,)]
    [(written,)] = caller.execute("select pg_current_xact_id_if_assigned() is not null").fetchall()
    assert written is False
