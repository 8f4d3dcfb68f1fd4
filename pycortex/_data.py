"""Where the files that travel with the package are: in a checkout beside it, else inside it."""

from pathlib import Path

__all__ = ["data_path"]

_PACKAGE = Path(__file__).parent
_HOMES = {
    "sql": "sql",
    "migrations": "migrations",
    "latexml-logs": "examples/latexml-logs",
}


def data_path(name: str) -> Path:
    """
    Return the folder *name*: ``sql``, ``migrations`` or ``latexml-logs``.

    Raises:
        FileNotFoundError: Neither a checkout nor an installed package has it.
    """
    installed = _PACKAGE / "_data" / name
    checkout = _PACKAGE.parent / _HOMES[name]
    for path in (checkout, installed):
        if path.is_dir():
            return path
    raise FileNotFoundError(f"the folder {name} of pycortex is missing; reinstall pycortex-jobs")
