"""Connection strings: limits where the user gave none, and no password in any text."""

from __future__ import annotations

import pytest
from psycopg.conninfo import conninfo_to_dict

from pycortex._conninfo import DEFAULTS, redact, with_defaults

SECRET = "s3cr3t"


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://ada:{SECRET}@db.example/app",
        f"postgresql://ada:{SECRET}@[::1]:5432/app",
        f"postgresql://ada:p@ss/{SECRET}#%?@db.example:5432/app",
        f"postgresql://ada:my {SECRET}@db.example/app",
        f"postgresql://ada:%40{SECRET}@one:1,two:2/app",
        f"postgresql://ada:{SECRET}",
        f"postgres://db.example/app?user=ada&password={SECRET}&connect_timeout=3",
        f"host=db.example password={SECRET} user=ada",
        f"host=db.example password = '{SECRET} it\\'s {SECRET}' user=ada",
        f"host=db.example password='{SECRET}",
        f"sslpassword={SECRET} host=db.example",
        f"PGPASSWORD={SECRET} psql",
        f"can't connect to postgresql://ada:{SECRET}@db.example/app: refused",
    ],
)
def test_hides_the_password_wherever_it_stands(text):
    """M05."""
    hidden = redact(text)

    assert SECRET not in hidden
    assert "***" in hidden


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://db.example:5432/app",
        "postgresql://ada@db.example/app",
        "postgresql:///app?host=/var/run/postgresql",
        "host=db.example user=ada dbname=app",
        "embedded:///home/ada/db",
        'connection to server at "127.0.0.1", port 5432 failed: Connection refused',
        'password authentication failed for user "ada"',
    ],
)
def test_leaves_a_text_without_a_password_alone(text):
    assert redact(text) == text


def test_keeps_what_an_operator_needs():
    assert redact(f"postgresql://ada:{SECRET}@db:1/app") == "postgresql://ada:***@db:1/app"


@pytest.mark.parametrize("conninfo", ["", "postgresql://ada@db/app", "host=db user=ada"])
def test_limits_every_wait_for_the_network(conninfo):
    """H03."""
    params = conninfo_to_dict(with_defaults(conninfo, application_name="app"))

    assert params.items() >= DEFAULTS.items()
    assert params["fallback_application_name"] == "app"
    assert params.items() >= conninfo_to_dict(conninfo).items()


@pytest.mark.parametrize(
    "conninfo",
    ["postgresql://db/app?connect_timeout=3&keepalives=0", "connect_timeout=3 keepalives=0"],
)
def test_leaves_what_the_user_gave(conninfo):
    params = conninfo_to_dict(with_defaults(conninfo))

    assert (params["connect_timeout"], params["keepalives"]) == ("3", "0")


def test_leaves_what_the_environment_gives(monkeypatch):
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "3")

    assert "connect_timeout" not in conninfo_to_dict(with_defaults("host=db"))


@pytest.mark.parametrize("named", ["conninfo", "environment"])
def test_leaves_what_a_service_file_gives(monkeypatch, tmp_path, named):
    file = tmp_path / "services"
    file.write_text("[other]\nkeepalives=0\n[app]\nhost=db\nconnect_timeout=3\n")
    monkeypatch.setenv("PGSERVICEFILE", str(file))
    if named == "environment":
        monkeypatch.setenv("PGSERVICE", "app")

    params = conninfo_to_dict(with_defaults("service=app" if named == "conninfo" else ""))

    assert "connect_timeout" not in params
    assert params["keepalives"] == "1"


@pytest.mark.parametrize(
    "conninfo",
    [
        f"postgresql://ada:%zz{SECRET}@db/app",
        f"postgresql://ada:{SECRET}/x@db/app",
        f"host=db password='{SECRET}",
        f"host=db {SECRET}",
        f"postgresql://ada:{SECRET}",
    ],
)
def test_refuses_what_it_cannot_parse_without_repeating_it(conninfo):
    """M05."""
    with pytest.raises(ValueError, match="percent-encoded") as caught:
        with_defaults(conninfo)

    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(
    "conninfo",
    [
        "postgresql://u%40er:p%40ss%2Fw%3Ard%23%25%3F@db/app",
        r"user=u@er password='p@ss/w:rd#%?' host=db dbname=app",
    ],
)
def test_keeps_special_characters(conninfo):
    """M05."""
    params = conninfo_to_dict(with_defaults(conninfo))

    assert (params["user"], params["password"]) == ("u@er", "p@ss/w:rd#%?")


def test_says_how_to_reach_the_embedded_server():
    """The command takes embedded: for a URL, so somebody will try it here."""
    with pytest.raises(ValueError, match=r"pycortex\.database\.resolve"):
        with_defaults("embedded:///tmp/somewhere")
