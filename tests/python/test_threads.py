"""The executor whose threads keep no process alive, and calls at a later time."""

from __future__ import annotations

import threading
from concurrent.futures import Executor, wait

import pytest

from pycortex._threads import DaemonExecutor, Later
from tests.waiting import wait_until


@pytest.fixture
def executor():
    executor = DaemonExecutor(2)
    yield executor
    executor.shutdown(wait=False)


def test_is_an_executor_like_any_other(executor):
    assert isinstance(executor, Executor)
    assert executor.submit(divmod, 7, 2).result(10) == (3, 1)
    assert list(executor.map(str, range(3))) == ["0", "1", "2"]
    with pytest.raises(ZeroDivisionError):
        executor.submit(divmod, 1, 0).result(10)


def test_its_threads_are_daemons_and_survive_anything(executor):
    def leave():
        assert threading.current_thread().daemon
        raise SystemExit(3)

    futures = [executor.submit(leave) for _ in range(5)]

    assert {type(future.exception(10)) for future in futures} == {SystemExit}
    assert executor.submit(lambda: 1).result(10) == 1


def test_takes_nothing_after_its_shutdown(executor):
    ended = executor.submit(lambda: 1)
    executor.shutdown()

    assert ended.result(0) == 1
    with pytest.raises(RuntimeError):
        executor.submit(lambda: 2)
    assert not any(thread.is_alive() for thread in executor._threads)


def test_cancels_what_has_not_begun(executor):
    begun, go = threading.Barrier(3), threading.Event()

    def hold():
        begun.wait(10)
        return go.wait(10)

    running = [executor.submit(hold) for _ in range(2)]
    waiting = [executor.submit(lambda: 1) for _ in range(3)]
    begun.wait(10)

    executor.shutdown(wait=False, cancel_futures=True)

    assert all(future.cancelled() for future in waiting)
    go.set()
    assert all(future.result(10) for future in running)
    wait(running)


def test_calls_come_in_the_order_of_their_time():
    later, calls = Later(), []
    later.call(0.1, lambda: calls.append("second"))
    later.call(0.01, lambda: 1 / 0)
    later.call(0.02, lambda: calls.append("first"))

    wait_until(lambda: len(calls) == 2)

    assert calls == ["first", "second"]
    later.stop()
    later._thread.join(10)
    assert not later._thread.is_alive()
