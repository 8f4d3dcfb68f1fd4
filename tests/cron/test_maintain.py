"""maintain, called the way pg_cron calls it: at any time, from anywhere, by several at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import psycopg

from tests.cron.ownership import hand_over

SESSIONS = 10


def test_is_harmless_when_ten_sessions_call_it_at_once(database, committed):
    stale = [committed.make_job("running", silent_for="3 hours") for _ in range(30)]
    barrier = Barrier(SESSIONS)

    def call(_: int) -> tuple[bool, int]:
        with psycopg.connect(database, autocommit=True) as conn:
            barrier.wait()
            return conn.execute("select ran, stale from cortex.maintain()").fetchone()

    with ThreadPoolExecutor(SESSIONS) as pool:
        answers = list(pool.map(call, range(SESSIONS)))

    assert any(ran for ran, _ in answers)
    assert sum(ended for _, ended in answers) == len(stale)
    assert committed.conn.execute(
        "select count(*), count(distinct job) from cortex.job_events"
        " where to_status = 'interrupted'"
    ).fetchone() == (len(stale), len(stale))


def test_leaves_at_once_when_another_call_is_at_it(database, committed, connect):
    committed.make_job("running", silent_for="3 hours")
    other = connect()
    other.execute("select cortex.maintain()")

    ran, *counts = committed.conn.execute("select * from cortex.maintain()").fetchone()

    assert ran is False
    assert not any(counts)


def test_purges_only_old_runs_of_its_own_entry(home):
    """P15."""
    (ours,) = home.execute("select cortex.schedule_maintenance()").fetchone()
    (theirs,) = home.execute("select cron.schedule('theirs', '0 3 * * *', 'select 1')").fetchone()
    home.execute("delete from cron.job_run_details")
    for number in (ours, theirs):
        home.execute(
            "insert into cron.job_run_details (jobid, runid, status, end_time)"
            " select %s, %s * 100 + n, 'succeeded', now() - n * interval '20 hours'"
            " from generate_series(0, 3) as n",
            [number, number],
        )

    (purged,) = home.execute("select cron_runs_purged from cortex.maintain()").fetchone()

    assert purged == 2
    assert home.execute(
        "select count(*) filter (where jobid = %s), count(*) filter (where jobid = %s)"
        " from cron.job_run_details",
        [ours, theirs],
    ).fetchone() == (2, 4)


def test_leaves_no_warning_when_the_owner_may_not_look_into_pg_cron(home):
    hand_over(home, "cron_stranger", "login")
    notices = []
    home.add_notice_handler(lambda notice: notices.append(notice.message_primary))

    (ran,) = home.execute("select ran from cortex.maintain()").fetchone()

    assert ran is True
    assert notices == []
