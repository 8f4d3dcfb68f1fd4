"""Which database is meant: the rules for its URL, and the embedded server as the last resort.

In this order: the URL that was given; ``PYCORTEX_DATABASE_URL``; libpq's own environment
(``PGHOST``, ``PGDATABASE``, ``PGSERVICE``, …); the embedded server in the user's data folder.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from pycortex._embedded import EmbeddedError, EmbeddedServer

__all__ = [
    "URL_VARIABLE",
    "Database",
    "DatabaseUrlError",
    "EmbeddedError",
    "default_folder",
    "resolve",
]

URL_VARIABLE = "PYCORTEX_DATABASE_URL"

# Any of these says that the user has told libpq where to go.
LIBPQ_VARIABLES = ("PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER", "PGSERVICE")

ENCODE = (
    "write special characters of the user name or password percent-encoded: "
    "@ as %40, / as %2F, : as %3A, # as %23, ? as %3F, % as %25"
)
QUOTE = "put values with spaces or quotes in single quotes, with \\' for a quote inside"
FORMS = "use postgresql://user@host/database, 'host=… dbname=…', or embedded:"


class DatabaseUrlError(ValueError):
    """The URL can't be understood. Its text never appears in the message; ``hint`` helps."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class Database:
    """
    A database that can be connected to while the context is open.

    For a server elsewhere the context does nothing; the embedded server is kept up by it.

    Attributes:
        label: What it is, for people, without secrets.
        implied: Whether nobody named this database, so that it is worth saying which it is.
    """

    def __init__(
        self,
        conninfo: str,
        label: str,
        *,
        embedded: EmbeddedServer | None = None,
        implied: bool = False,
    ) -> None:
        self._conninfo = conninfo
        self.label = label
        self.implied = implied
        self._embedded = embedded

    @property
    def conninfo(self) -> str:
        """A connection string for libpq; may hold a password."""
        return self._conninfo if self._embedded is None else self._embedded.conninfo

    @property
    def folder(self) -> Path | None:
        """The folder of the embedded server, None for any other."""
        return None if self._embedded is None else self._embedded.folder

    @property
    def is_new(self) -> bool:
        """Whether entering the context will create an embedded server."""
        return self._embedded is not None and self._embedded.is_new

    def __enter__(self) -> "Database":
        if self._embedded is not None:
            self._embedded.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._embedded is not None:
            self._embedded.__exit__(*exc)


def resolve(url: str | None = None, *, environ: Mapping[str, str] | None = None) -> Database:
    """
    Find out which database is meant.

    Args:
        url: What the user said: a URI, libpq's key=value form, ``embedded:`` or
            ``embedded:///path``. None when nothing was said.
        environ: The environment to look at instead of the process's own.

    Raises:
        DatabaseUrlError: The URL can't be understood.
    """
    environ = os.environ if environ is None else environ
    if url is not None:
        return _from_url(url, environ)
    if environ.get(URL_VARIABLE):
        return _from_url(environ[URL_VARIABLE], environ)
    if any(environ.get(name) for name in LIBPQ_VARIABLES):
        return Database("", "the database of libpq's own environment")
    return _embedded(default_folder(environ), implied=True)


def default_folder(environ: Mapping[str, str] | None = None) -> Path:
    """
    Tell where the embedded server lives when nobody says otherwise.

    Raises:
        DatabaseUrlError: This user has no home folder.
    """
    environ = os.environ if environ is None else environ
    home = environ.get("XDG_DATA_HOME", "")
    # The XDG rules: a path that is not absolute is to be ignored.
    try:
        data = Path(home) if home.startswith("/") else Path.home() / ".local" / "share"
    except RuntimeError as error:
        raise DatabaseUrlError(
            "no database is named, and there is no home folder for the embedded server",
            f"set --database-url, {URL_VARIABLE} or HOME",
        ) from error
    return data / "pycortex"


def _from_url(url: str, environ: Mapping[str, str]) -> Database:
    if not url.strip():
        raise DatabaseUrlError("the database URL is empty", FORMS)
    if "\0" in url:
        raise DatabaseUrlError("the database URL holds a NUL character", FORMS)
    if url.startswith("embedded:"):
        return _embedded(_embedded_folder(url.removeprefix("embedded:"), environ), implied=False)
    values = _parse(url)
    if "://" in url:
        _refuse_misread(url)
    _check_ports(values)
    return Database(url, _label(values))


def _embedded(folder: Path, *, implied: bool) -> Database:
    server = EmbeddedServer(folder)
    return Database(
        "",
        f"the embedded server in {server.folder}",
        embedded=server,
        implied=implied,
    )


def _embedded_folder(rest: str, environ: Mapping[str, str]) -> Path:
    if not rest:
        return default_folder(environ)
    path = rest
    if rest.startswith("//"):
        path = rest[2:]
        if not path.startswith("/"):
            raise DatabaseUrlError(
                "the embedded server is named by a folder, and this URL names a host",
                "use embedded:///absolute/path, embedded:relative/path, or embedded: alone",
            )
    return Path(unquote(path))


def _parse(url: str) -> dict[str, Any]:
    try:
        return conninfo_to_dict(url)
    except (psycopg.Error, UnicodeError) as error:
        scheme, found, rest = url.partition("://")
        if found and scheme not in ("postgresql", "postgres"):
            hint = FORMS
        elif found and ("@" in rest or ":" in rest):
            hint = ENCODE
        elif found or "=" not in url:
            hint = FORMS
        else:
            hint = QUOTE
        reason = ""
        if "@" not in url and "pass" not in url.lower() and found:
            # Nothing in it can be a secret, so libpq's own reason may be shown.
            reason = ": " + str(error).strip()
        raise DatabaseUrlError(f"the database URL can't be parsed{reason}", hint) from None


def _refuse_misread(url: str) -> None:
    """Refuse what libpq takes, but surely not as it was meant: a raw @ or / in the password."""
    rest = url.partition("://")[2]
    # A ? may start the parameters, where an @ is harmless.
    place = rest.rpartition("?")[0] or rest
    if place.count("@") > 1 or ("@" in place and "/" in place.partition("@")[0]):
        raise DatabaseUrlError("the database URL can't be parsed: it has an @ too many", ENCODE)


def _check_ports(values: Mapping[str, Any]) -> None:
    for port in str(values.get("port") or "").split(","):
        if port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
            raise DatabaseUrlError(
                "the database URL can't be parsed: its port is not a number from 1 to 65535",
                ENCODE,
            )


def _label(values: Mapping[str, Any]) -> str:
    if values.get("service") and not values.get("host"):
        return f"service {values['service']}"
    host = str(values.get("host") or values.get("hostaddr") or "the local socket")
    user = f"{values['user']}@" if values.get("user") else ""
    port = f":{values['port']}" if values.get("port") else ""
    name = f"/{values['dbname']}" if values.get("dbname") else ""
    return f"{user}{host}{port}{name}"
