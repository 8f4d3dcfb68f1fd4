"""The page on faults names tests that there are, and leaves out no module of them."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
MODULES = ROOT / "tests" / "faults"


def test_every_test_that_it_names_is_there():
    named = re.findall(r"`(test_\w+\.py)::(\w+)`", PAGE)

    missing = [
        f"{name}::{test}"
        for name, test in named
        if f"def {test}(" not in (MODULES / name).read_text(encoding="utf-8")
    ]

    assert len(named) > 50
    assert not missing


def test_every_module_with_faults_is_named():
    marked = {
        path.name
        for path in MODULES.glob("test_*.py")
        if "pytest.mark.fault(" in path.read_text(encoding="utf-8")
    }

    assert marked - {"test_roles.py"} <= set(re.findall(r"`(test_\w+\.py)::", PAGE))


def test_it_shows_the_figures_of_a_run():
    [table] = re.findall(r"```text\nkind of fault +tests +faults .*?```", PAGE, re.DOTALL)
    kinds = {
        kind
        for path in MODULES.glob("test_*.py")
        for kind in re.findall(r'mark\.fault\("([^"]+)"\)', path.read_text(encoding="utf-8"))
    }

    assert not {kind for kind in kinds if not re.search(f"^{re.escape(kind)}  ", table, re.M)}
    assert re.search(r"^total( +\d+){3}( +0){3}$", table, re.MULTILINE)
