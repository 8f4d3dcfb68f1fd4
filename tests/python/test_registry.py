"""@pycortex.job and import_app."""

from __future__ import annotations

import sys

import pytest

import pycortex
from pycortex import registry


@pytest.fixture(autouse=True)
def bodies(monkeypatch):
    """Registrations of a test go with it."""
    monkeypatch.setattr(registry, "_bodies", {})


def test_registers_a_body_and_leaves_it_callable():
    @pycortex.job("b")
    def body(progress):
        return progress

    @pycortex.job("a")
    def other(progress):
        return progress

    assert body(1) == 1
    assert registry.get("b") is body
    assert registry.get("never") is None
    assert registry.kinds() == ["a", "b"]


def test_refuses_a_second_body_and_names_both():
    @pycortex.job("a")
    def one(progress): ...

    def other(progress): ...

    with pytest.raises(ValueError, match=r"one.*other"):
        pycortex.job("a")(other)

    assert registry.get("a") is one
    assert pycortex.job("a")(one) is one


@pytest.mark.parametrize("kind", ["", " ", "x" * 201])
def test_refuses_a_kind_that_the_database_would_refuse(kind):
    with pytest.raises(ValueError, match="1 to 200 characters"):
        pycortex.job(kind)


def test_says_what_is_wrong_without_parentheses():
    with pytest.raises(TypeError, match="parentheses"):

        @pycortex.job
        def body(progress): ...


def test_refuses_what_a_thread_cannot_run():
    with pytest.raises(TypeError, match="AsyncRunner"):

        @pycortex.job("a")
        async def body(progress): ...

    with pytest.raises(TypeError, match="generator"):

        @pycortex.job("b")
        def steps(progress):
            yield

    with pytest.raises(TypeError, match="callable"):
        pycortex.job("c")(None)


def test_import_app_finds_a_module_in_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "my_app").mkdir()
    (tmp_path / "my_app" / "jobs.py").write_text(
        "import pycortex\n@pycortex.job('mine')\ndef body(progress): ...\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])

    module = registry.import_app("my_app.jobs")

    assert registry.get("mine") is module.body


def test_import_app_says_what_cannot_be_imported():
    with pytest.raises(ImportError, match="nowhere"):
        registry.import_app("nowhere.to_be_found")
