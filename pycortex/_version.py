"""Whether a database's schema and this package fit together."""

import importlib.metadata
from typing import Any

from psycopg import Connection, errors

from pycortex import sql
from pycortex._data import data_path
from pycortex._log import logger

__all__ = ["OlderSchema", "check_version", "needed_version"]


class OlderSchema(errors.FeatureNotSupported):
    """The database lacks migrations that this version of the package needs."""


def needed_version() -> str:
    """Name the migration that a database must have seen; schema corpus is nobody's need."""
    return _newest(corpus=False)


def check_version(conn: Connection[Any]) -> None:
    """
    See that the schema in the database of *conn*, a session in autocommit, isn't too old.

    A newer one is logged, and works: what an older client calls stays for a release.

    Raises:
        OlderSchema: It is too old; says both versions.
        psycopg.errors.InvalidSchemaName: Nothing is installed there.
    """
    try:
        found = sql.schema_version(conn)
    except errors.InsufficientPrivilege:
        return  # where roles can't be created, the owner grants what it wants, maybe not this
    except errors.UndefinedFunction as error:
        raise OlderSchema(_refusal(conn, "older than any that says its version")) from error
    if found < needed_version():
        raise OlderSchema(_refusal(conn, f"at {found}"))
    if found > _newest(corpus=True):
        logger.warning(
            "the schema in database %s is at %s, newer than pycortex-jobs %s, which ends at %s; "
            "upgrade the package soon",
            conn.info.dbname,
            found,
            _package(),
            _newest(corpus=True),
        )


def _newest(*, corpus: bool) -> str:
    names = (path.stem for path in data_path("migrations").glob("*.sql"))
    return max(name for name in names if corpus or "corpus" not in name)


def _refusal(conn: Connection[Any], found: str) -> str:
    return (
        f"the schema in database {conn.info.dbname} is {found}; pycortex-jobs {_package()} needs "
        f"{needed_version()} or newer: run pycortex install, or use the older package"
    )


def _package() -> str:
    try:
        return importlib.metadata.version("pycortex-jobs")
    except importlib.metadata.PackageNotFoundError:
        return "of this checkout"
