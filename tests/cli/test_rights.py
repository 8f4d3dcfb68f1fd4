"""What somebody reads who lacks the rights: which are missing, and what to do."""

from __future__ import annotations

import json

import pytest

from tests.sql.logins import login


@pytest.fixture
def as_role(server, database, cli):
    """Run the command as a new member of one role, or of none."""
    from psycopg.conninfo import conninfo_to_dict

    def run(role, *arguments):
        with login(server, conninfo_to_dict(database)["dbname"], role) as url:
            return cli("--database-url", url, *arguments)

    return run


def test_spawn_tells_a_reader_where_the_roles_are_described(as_role):
    result = as_role("cortex_reader", "spawn", "test")

    assert result.exit_code == 1
    assert "permission denied" in result.stderr
    assert "docs/security.md" in result.stderr


def test_doctor_says_what_a_role_without_rights_needs(as_role):
    result = as_role(None, "doctor", "--json")

    checks = {check["name"]: check for check in json.loads(result.stdout)}
    assert result.exit_code == 1
    assert checks["schema"]["level"] == "error"
    assert "grant cortex_reader" in checks["schema"]["hint"]


@pytest.mark.parametrize("role", [None, "cortex_admin"])
def test_install_names_the_role_that_owns_the_schema(as_role, committed, role):
    [owner] = committed.conn.execute("select current_user").fetchone()

    result = as_role(role, "install")

    assert result.exit_code == 1
    assert f"belongs to role {owner}" in result.stderr
