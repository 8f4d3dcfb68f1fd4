"""Connection strings: limits on every wait for the network, and no password in any text."""

from __future__ import annotations

import configparser
import os
import re
from pathlib import Path

import psycopg
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict, make_conninfo

__all__ = ["redact", "with_defaults"]

DEFAULTS = {
    "connect_timeout": "10",
    "keepalives": "1",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "15000",
}
"""Seconds, the last milliseconds: a peer that vanished is noticed soon, not after hours."""

HIDDEN = "***"

# The name and the password of a URL, or something that may be meant as such: up to the last @.
_LOGIN = re.compile(r"(?P<scheme>\b[a-z][a-z0-9+.-]*://)(?P<login>[^\n'\"]*)@", re.IGNORECASE)
# No @ at all: "host:port" may be shown, "user:secret" not.
_NO_LOGIN = re.compile(
    r"(?P<head>\b[a-z][a-z0-9+.-]*://[^\s:/@'\"\[\]]*:)(?!\*\*\*@|\d*(?:[/?,\s'\"]|$))[^\n'\"]*",
    re.IGNORECASE,
)
_AFTER_USER = re.compile(r"[/?#\s]")
_QUERY = re.compile(r"(?P<name>[?&](?:ssl)?password=)[^&\s'\"]*", re.IGNORECASE)
_WORD = re.compile(
    r"(?P<name>(?:\b|ssl|PG)password\s*=\s*)(?:'(?:[^'\\]|\\.)*(?:'|$)|(?:\\.|[^\s&])+)",
    re.IGNORECASE | re.DOTALL,
)


def redact(text: str) -> str:
    """
    Hide every password in *text*: in URLs, broken ones too, and in key=value strings.

    When in doubt it hides more.
    """
    text = _LOGIN.sub(_hide_login, text)
    text = _NO_LOGIN.sub(rf"\g<head>{HIDDEN}", text)
    text = _QUERY.sub(rf"\g<name>{HIDDEN}", text)
    return _WORD.sub(rf"\g<name>{HIDDEN}", text)


def _hide_login(found: re.Match[str]) -> str:
    user, colon, _ = found["login"].partition(":")
    if not colon and not _AFTER_USER.search(user):
        return found[0]
    return f"{found['scheme']}{_AFTER_USER.split(user)[0]}:{HIDDEN}@"


def with_defaults(conninfo: str = "", *, application_name: str = "") -> str:
    """
    Add limits on every wait for the network, UTF-8, and a name, where the user gave none.

    What the user gave counts wherever it stands: in *conninfo*, in libpq's environment, in a
    service file.

    Args:
        conninfo: A URL or key=value string.
        application_name: Shown in pg_stat_activity.

    Raises:
        ValueError: It can't be parsed; says so without repeating it.
    """
    params = _parse(conninfo)
    service = params.get("service") or os.environ.get("PGSERVICE")
    given = params.keys() | {
        option.keyword.decode()
        for option in pq.Conninfo.get_defaults()
        if option.envvar and option.envvar.decode() in os.environ
    }
    if service:
        given |= _in_service(service)
    added = {name: value for name, value in DEFAULTS.items() if name not in given}
    if "client_encoding" not in params:
        added["client_encoding"] = "UTF8"  # Python's text may hold anything
    if application_name and "fallback_application_name" not in given:
        added["fallback_application_name"] = application_name
    return make_conninfo(conninfo, **added)


def _parse(conninfo: str) -> dict[str, str]:
    if conninfo.startswith("embedded:"):
        raise ValueError(
            "embedded: is no connection string; with pycortex.database.resolve('embedded:') as "
            "database: keeps that server up, and database.conninfo leads to it"
        )
    try:
        found = conninfo_to_dict(conninfo)
    except psycopg.ProgrammingError as error:
        # libpq repeats the part that it can't read, which may be a piece of the password.
        reason = re.split(r"[:\"]", str(error), maxsplit=1)[0].strip()
    else:
        params = {name: str(value) for name, value in found.items() if value is not None}
        if re.fullmatch(r"[\d,]*", params.get("port", "")):
            return params
        reason = "the port is no number"
    raise ValueError(
        f"the connection string can't be parsed ({reason}); special characters in a user name "
        "or password must be percent-encoded in a URL, quoted in a key=value string"
    )


def _in_service(service: str) -> set[str]:
    """Return what libpq will read from the service file."""
    folder = os.environ.get("PGSYSCONFDIR")
    files = [
        Path(os.environ.get("PGSERVICEFILE") or Path.home() / ".pg_service.conf"),
        *([Path(folder) / "pg_service.conf"] if folder else []),
    ]
    for file in files:
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        try:
            parser.read(file)
        except (configparser.Error, OSError, UnicodeDecodeError):
            continue
        if parser.has_section(service):
            return set(parser[service])
    return set()
