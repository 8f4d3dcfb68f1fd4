"""configure, purge and maintain."""

from __future__ import annotations

import pytest


def test_configure_shows_what_holds_and_changes_it(cli, cli_json):
    before = cli_json("configure")

    after = cli_json("configure", "--keep", "9 days", "--max-attempts", "4")

    assert after["keep"] == 9 * 86400
    assert after == before | {"keep": 9 * 86400, "max_attempts": 4, "kinds": []}
    assert cli_json("configure", "--reset", "keep", "--reset", "max_attempts") == before
    assert "stale_after" in cli("configure").stdout


def test_configure_of_a_kind_follows_the_defaults_in_the_rest(cli, cli_json):
    settings = cli_json("configure")

    rules = cli_json("configure", "import", "--stale-after", "6 hours", "--max-running", "2")

    assert rules["stale_after"] == 6 * 3600
    assert (rules["kind"], rules["keep"]) == ("import", settings["keep"])
    assert [one["kind"] for one in cli_json("configure")["kinds"]] == ["import"]
    assert "6h00m" in cli("configure").stdout
    reset = cli_json("configure", "import", "--reset", "stale_after")
    assert reset["stale_after"] == settings["stale_after"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--keep", "soon"), 2),
        (("--keep", "-1 day"), 1),
        (("--max-attempts", "0"), 2),
        (("--reset", "nosuch"), 2),
        (("import", "--runner-beat", "1 second"), 2),
        (("import", "--reset", "runner_grace"), 2),
        (("--on-interrupt", "nosuch"), 2),
        (("", "--keep", "1 day"), 1),
    ],
)
def test_configure_refuses_what_makes_no_sense_and_changes_nothing(cli, cli_json, arguments, code):
    before = cli_json("configure")

    result = cli("configure", *arguments)

    assert (result.exit_code, result.stdout) == (code, "")
    assert cli_json("configure") == before


@pytest.fixture
def old(committed):
    for kind, status in (("a", "failed"), ("a", "failed"), ("b", "succeeded")):
        committed.make_job(status, kind=kind, silent_for="40 days")
    committed.make_job("failed", kind="a")
    committed.make_job("queued", kind="a", silent_for="40 days")


def number(committed):
    return committed.conn.execute("select count(*) from cortex.job").fetchone()[0]


def test_purge_counts_what_would_go_and_changes_nothing(cli, cli_json, committed, old):
    plan = cli_json("purge", "--older-than", "30 days", "--dry-run")

    assert plan == [
        {"kind": "a", "status": "failed", "jobs": 2},
        {"kind": "b", "status": "succeeded", "jobs": 1},
    ]
    assert "total" in cli("purge", "--older-than", "30 days", "--dry-run").stdout
    assert number(committed) == 5


@pytest.mark.parametrize("batch", ["1", "2", "3", "10000"])
def test_purge_deletes_all_of_it_in_batches(cli_json, committed, old, batch):
    done = cli_json("purge", "--older-than", "30 days", "--yes", "--batch-size", batch)

    assert done == {"deleted": 3}
    assert number(committed) == 2


def test_purge_wants_a_yes_where_nobody_can_be_asked(cli, committed, old):
    """N05"""
    result = cli("purge", "--older-than", "30 days")

    assert result.exit_code == 2
    assert number(committed) == 5


@pytest.mark.parametrize(("answer", "code", "left"), [("y\n", 0, 2), ("n\n", 1, 5)])
def test_purge_asks_at_a_terminal_with_the_number(pycortex, committed, old, answer, code, left):
    screen = pycortex.on_terminal(
        "purge", "--older-than", "30 days", typed=[("Delete 3 jobs", answer)]
    )

    assert screen.returncode == code
    assert number(committed) == left


@pytest.mark.parametrize(("age", "code"), [("soon", 2), ("-1 day", 1), ("", 2)])
def test_purge_refuses_an_age_that_is_none(cli, committed, old, age, code):
    assert cli("purge", "--older-than", age, "--yes").exit_code == code
    assert cli("purge", "--older-than", age, "--dry-run").exit_code == code
    assert number(committed) == 5


def test_maintain_says_what_it_did(cli_json, committed):
    committed.make_job("running", silent_for="30 hours")

    done = cli_json("maintain")

    assert (done["ran"], done["stale"]) == (True, 1)


def test_waiting_and_runners_say_why_jobs_wait(cli, cli_json, committed):
    committed.make_job("queued", kind="lonely")

    assert [(row["kind"], row["ready"], row["workers"]) for row in cli_json("waiting")] == [
        ("lonely", 1, 0)
    ]
    assert "lonely" in cli("waiting").stdout
    committed.conn.execute("select cortex.register_runner('w', 'h', 1)")
    assert [row["name"] for row in cli_json("runners")] == ["w"]
    committed.conn.execute("select cortex.retire_runner(uuid) from cortex.runners")
    assert cli_json("runners") == []
    assert len(cli_json("runners", "--all")) == 1
