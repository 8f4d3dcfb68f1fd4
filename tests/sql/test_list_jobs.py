"""cortex.list_jobs: filters, and pages that neither repeat nor skip."""

import itertools
import threading

import pytest

from tests.sql.asking import refused, rows, status_of, value

PAGE = """
    select uuid, created_at from cortex.list_jobs(
        kinds => %(kinds)s, after_created_at => %(at)s, after_uuid => %(uuid)s, max_rows => %(rows)s
    )
"""


def found(conn, filters, *values):
    return [
        row["uuid"] for row in rows(conn, f"select uuid from cortex.list_jobs({filters})", values)
    ]


def pages(conn, size, kinds=None):
    """All jobs, page by page; the list of pages."""
    at = uuid = None
    while True:
        asked = {"kinds": kinds, "at": at, "uuid": uuid, "rows": size}
        page = rows(conn, PAGE, asked)
        yield [row["uuid"] for row in page]
        if len(page) < size:
            return
        at, uuid = page[-1]["created_at"], page[-1]["uuid"]


def test_lists_the_newest_first(conn, make_job):
    middle = make_job("succeeded", silent_for="2 hours")
    oldest = make_job("queued", silent_for="3 hours")
    newest = make_job("failed", silent_for="1 hour")

    assert found(conn, "") == [newest, middle, oldest]


def test_answers_with_the_columns_of_the_view(conn, make_job):
    make_job("failed", params={"a": 1})

    [answer] = rows(conn, "select * from cortex.list_jobs()")

    [seen] = rows(conn, "select * from cortex.jobs")
    assert list(answer) == list(seen)
    assert answer | {"seconds_since_update": 0} == seen | {"seconds_since_update": 0}


def test_closes_what_only_looks_alive(conn, make_job):
    zombie = make_job("running", silent_for="30 hours")

    assert found(conn, "statuses => '{running}'") == []

    assert status_of(conn, zombie) == "interrupted"


def test_filters_each_by_itself_and_all_together(conn, make_job):
    jobs = {}
    for kind, status, actor, scope in itertools.product(
        ("a", "b", "c"), ("failed", "succeeded"), ("ada", "ben"), ({"n": 1}, None)
    ):
        jobs[make_job(status, kind=kind, actor=actor, debounce_scope=scope)] = (
            kind, status, actor, scope,
        )  # fmt: skip

    def those(**wanted):
        places = ("kinds", "statuses", "actors", "scopes")
        return {
            uuid
            for uuid, has in jobs.items()
            if all(has[places.index(name)] in allowed for name, allowed in wanted.items())
        }

    asked = {
        "kinds => '{a}'": those(kinds="a"),
        "kinds => '{a,c,a,nosuch}'": those(kinds="ac"),
        "kinds => '{}'": set(),
        "statuses => '{failed}'": those(statuses=["failed"]),
        "statuses => '{failed,succeeded,failed}'": those(),
        "statuses => '{}'": set(),
        "kinds => '{b,c}', statuses => '{succeeded}'": those(kinds="bc", statuses=["succeeded"]),
        "actor => 'ada'": those(actors=["ada"]),
        "scope => '{\"n\": 1.0}'": those(scopes=[{"n": 1}]),
        "scope => '{}'": set(),
        "kinds => '{a}', statuses => '{failed}', actor => 'ben', scope => '{\"n\": 1}'": those(
            kinds="a", statuses=["failed"], actors=["ben"], scopes=[{"n": 1}]
        ),
    }
    for filters, wanted in asked.items():
        answer = found(conn, filters)
        assert len(answer) == len(set(answer)), filters
        assert set(answer) == wanted, filters


def test_takes_no_character_of_a_name_for_a_wildcard(conn, make_job):
    """I03"""
    make_job("failed", kind="axb", actor="axb")
    exact = make_job("failed", kind="a_b", actor="a%b")

    assert found(conn, "kinds => '{a_b}'") == [exact]
    assert found(conn, "actor => 'a%%b'") == [exact]
    assert found(conn, "actor => '%%'") == []


def test_starts_at_since_itself(conn, make_job):
    edge = make_job("failed", created_at="2020-01-02 00:00:00+00")
    make_job("failed", created_at="2020-01-01 23:59:59.999999+00")

    assert found(conn, "since => '2020-01-02 00:00:00+00'") == [edge]


@pytest.mark.parametrize("size", [1, 7, 100, 250])
@pytest.mark.parametrize("kinds", [None, ["even", "odd"]])
def test_pages_through_ties_without_repeating_or_skipping(conn, size, kinds):
    """Q04"""
    conn.execute(
        "insert into cortex.job (kind, created_at)"
        " select case g % 2 when 0 then 'even' else 'odd' end,"
        " timestamptz '2020-01-01 00:00+00' + g / 100 * interval '1 second'"
        " from generate_series(1, 250) as g"
    )

    listed = [uuid for page in pages(conn, size, kinds) for uuid in page]

    assert len(listed) == 250
    assert len(set(listed)) == 250
    assert listed == next(pages(conn, 1000, kinds))


def test_pages_neither_repeat_nor_skip_while_others_spawn_and_purge(committed, connect):
    """Q04: a thousand jobs of one moment, and another session at work between any two pages."""
    conn = committed.conn
    conn.execute(
        "insert into cortex.job (kind, status, created_at, finished_at)"
        " select 'old', 'cancelled', '2020-01-01 00:00+00', '2020-01-02 00:00+00'"
        " from generate_series(1, 1000)"
    )
    there = {row["uuid"] for row in rows(conn, "select uuid from cortex.jobs")}
    other, over = connect(), threading.Event()
    other.autocommit = True
    purged = set()

    def disturb():
        while not over.is_set():
            other.execute("select cortex.spawn_jobs('new', array['{}', '{}']::jsonb[])")

    thread = threading.Thread(target=disturb)
    thread.start()
    listed = []
    try:
        for page in pages(conn, 50):
            listed += page
            if len(listed) < 500 and page and page[-1] in there:
                # What the next page begins behind is gone.
                purged.add(page[-1])
                conn.execute("delete from cortex.job where uuid = %s", [page[-1]])
    finally:
        over.set()
        thread.join()

    assert len(listed) == len(set(listed))
    assert there <= set(listed)
    assert purged
    assert value(conn, "select count(*) from cortex.jobs where kind = 'new'") > 0


def test_takes_no_and_all_rows(conn, make_job):
    """Q04: the bounds."""
    job = make_job("failed")

    assert found(conn, "max_rows => 0") == []
    assert found(conn, "max_rows => 2147483647") == [job]
    assert found(conn, "max_rows => null") == [job]


@pytest.mark.parametrize(
    "arguments",
    [
        "max_rows => -1",
        "after_created_at => now()",
        "after_uuid => '0b5f2c1e-7a34-4b7e-9c55-6f0c1f3f8a10'",
    ],
)
def test_refuses_what_makes_no_page(conn, arguments):
    with refused(conn, "22023"):
        conn.execute(f"select cortex.list_jobs({arguments})")


def test_just_reads_where_nothing_can_be_written(conn, make_job):
    zombie = make_job("running", silent_for="30 hours")
    conn.execute("set transaction read only")

    assert found(conn, "") == [zombie]
