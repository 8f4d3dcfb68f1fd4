"""Which database is meant, and what is said of an URL that makes no sense."""

from pathlib import Path

import pytest

from pycortex.database import DatabaseUrlError, default_folder, resolve

SECRET = "geheim"


def test_takes_the_given_url_before_everything_else():
    environment = {"PYCORTEX_DATABASE_URL": "postgresql://b/b", "PGHOST": "c"}

    assert resolve("postgresql://a/a", environ=environment).conninfo == "postgresql://a/a"


def test_takes_its_own_variable_before_those_of_libpq():
    environment = {"PYCORTEX_DATABASE_URL": "postgresql://b/b", "PGHOST": "c"}

    assert resolve(environ=environment).conninfo == "postgresql://b/b"


@pytest.mark.parametrize("name", ["PGHOST", "PGHOSTADDR", "PGDATABASE", "PGSERVICE", "PGUSER"])
def test_leaves_it_to_libpq_when_its_environment_says_where_to_go(name):
    assert resolve(environ={name: "x"}).conninfo == ""


def test_falls_back_on_the_embedded_server_and_knows_that_nobody_named_it():
    found = resolve(environ={"XDG_DATA_HOME": "/data", "PYCORTEX_DATABASE_URL": ""})

    assert found.implied
    assert found.folder == Path("/data/pycortex")


def test_ignores_a_relative_data_home_as_its_rules_say(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")

    assert default_folder({"XDG_DATA_HOME": "data"}) == Path("/home/ada/.local/share/pycortex")


@pytest.mark.parametrize(
    ("url", "folder"),
    [
        ("embedded:///srv/jobs", "/srv/jobs"),
        ("embedded:///srv/my%20jobs", "/srv/my jobs"),
        ("embedded:/srv/jobs", "/srv/jobs"),
        ("embedded:.demo", str(Path.cwd() / ".demo")),
        ("embedded:", "/data/pycortex"),
    ],
)
def test_finds_the_folder_of_an_embedded_server(url, folder):
    found = resolve(url, environ={"XDG_DATA_HOME": "/data"})

    assert str(found.folder) == folder
    assert not found.implied


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://ada:{SECRET}@@host/db",
        f"postgresql://ada:x@{SECRET}@host/db",
        f"postgresql://ada:x/{SECRET}@host/db",
        f"postgresql://ada:12/{SECRET}@host/db",
        f"postgresql://ada:x%{SECRET}@host/db",
        f"postgresql://u@er:p@ss/w:rd#%?{SECRET}@host/db",
        f"postgresql://ada:x@host:{SECRET}/db",
        f"postgresql://ada:{SECRET}@host:99999/db",
        f"host=host password=it's {SECRET}",
        f"host=host password='{SECRET}",
        f"mysql://ada:{SECRET}@host/db",
        f"postgresql+psycopg://ada:{SECRET}@host/db",
        SECRET,
        "",
        f"embedded://{SECRET}",
        f"postgresql://h/d\0{SECRET}",
    ],
)
def test_refuses_what_it_can_not_read_without_repeating_it(url):
    """M05"""
    with pytest.raises(DatabaseUrlError) as caught:
        resolve(url)

    assert SECRET not in f"{caught.value} {caught.value.hint}"
    assert caught.value.hint


def test_hints_at_percent_encoding_for_a_raw_character_in_the_password():
    """M05"""
    with pytest.raises(DatabaseUrlError) as caught:
        resolve("postgresql://ada:p@ss/word@host/db")

    assert "%40" in caught.value.hint


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u%40er:p%40ss%2Fw%3Ard%23%25%3F@host/db",
        "postgresql://ada:p?ss#1@host/db",
        "postgresql://ada:pw@[::1]:5433/db",
        "postgresql:///db?host=/var/run/postgresql",
        "postgresql:///db?application_name=a@b",
        "postgres://one:5432,two:5433/db?target_session_attrs=read-write",
        r"host=host user='u@er' password='p@ss/w:rd#%? \'x\''",
        "service=jobs",
    ],
)
def test_takes_every_form_that_libpq_knows(url):
    """M05, H12"""
    assert resolve(url).conninfo == url


def test_names_a_database_without_its_password():
    assert resolve("postgresql://ada:geheim@host:5433/db").label == "ada@host:5433/db"
