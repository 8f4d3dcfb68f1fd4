"""kills_for_memory: where the system counts what it kills for want of memory."""

from __future__ import annotations

import pytest

from pycortex import _memory
from pycortex._memory import kills_for_memory


@pytest.fixture
def system(tmp_path, monkeypatch):
    """Writes the files of a system of its own, by their usual paths."""

    def write(files):
        for path, text in files.items():
            there = tmp_path / path.lstrip("/")
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_text(text)

    monkeypatch.setattr(_memory, "ROOT", tmp_path)
    return write


def test_counts_in_its_own_group_of_version_2(system):
    system(
        {
            "/proc/self/cgroup": "0::/system.slice/worker.service\n",
            "/sys/fs/cgroup/system.slice/worker.service/memory.events": "low 0\noom_kill 3\n",
            "/sys/fs/cgroup/memory.events": "oom_kill 9\n",
            "/proc/vmstat": "nr_free_pages 100\noom_kill 11\n",
        }
    )

    assert kills_for_memory() == 3


def test_counts_in_a_container_that_shows_itself_as_the_root(system):
    system(
        {
            "/proc/self/cgroup": "0::/../../docker/4711\n",
            "/sys/fs/cgroup/memory.events": "oom_kill 2\n",
        }
    )

    assert kills_for_memory() == 2


def test_counts_in_its_own_group_of_version_1(system):
    system(
        {
            "/proc/self/cgroup": "5:memory:/docker/4711\n1:name=systemd:/a:b\n0::/x",
            "/sys/fs/cgroup/memory/docker/4711/memory.oom_control": "under_oom 0\noom_kill 7\n",
        }
    )

    assert kills_for_memory() == 7


def test_counts_on_the_whole_system_where_groups_do_not(system):
    system({"/proc/self/cgroup": "0::/\n", "/proc/vmstat": "nr_free_pages 100\noom_kill 11\n"})

    assert kills_for_memory() == 11


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"/proc/self/cgroup": "nonsense\n"},
        {"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.events": "oom_kill many\n"},
        {"/proc/vmstat": "\n\nnr_free_pages\n"},
    ],
)
def test_counts_nothing_where_nobody_tells(system, files):
    system(files)

    assert kills_for_memory() == 0


def test_can_be_asked_here():
    assert kills_for_memory() >= 0
