"""Places: many lives with few threads, or a thread for each."""

from __future__ import annotations

import threading
from concurrent.futures import Future

import pytest

from pycortex._places import Crowd, Threads
from tests.waiting import wait_until


class Lives:
    """Makes lives that wait for a gate, and knows where each of them is."""

    def __init__(self):
        self.gate = Future()
        self.begun = []
        self.ended = []

    def make(self, name, *waits):
        self.begun.append(name)
        yield from waits
        yield self.gate
        self.ended.append(name)


@pytest.fixture
def lives():
    lives = Lives()
    yield lives
    if not lives.gate.done():
        lives.gate.set_result(None)


@pytest.fixture(params=["threads", "crowd"])
def make_places(request):
    made = []

    def make(places):
        made.append(Threads(places) if request.param == "threads" else Crowd(places, 1))
        return made[-1]

    yield make
    for places in made:
        places.close()


def test_as_many_begin_as_there_are_places_and_the_rest_in_their_order(make_places, lives):
    places = make_places(3)
    for name in range(10):
        places.take(lives.make(name))
    wait_until(lambda: len(lives.begun) == 3)

    lives.gate.set_result(None)

    wait_until(lambda: len(lives.ended) == 10)
    assert sorted(lives.begun[:3]) == [0, 1, 2]
    assert sorted(lives.begun) == list(range(10))


def test_one_place_keeps_the_order(make_places, lives):
    places = make_places(1)
    lives.gate.set_result(None)

    for name in range(50):
        places.take(lives.make(name, 0.0))

    wait_until(lambda: len(lives.ended) == 50)
    assert lives.ended == list(range(50))


def test_a_life_that_raises_leaves_its_place(make_places, lives):
    def broken():
        yield 0.0
        raise ValueError("broken")

    places = make_places(1)
    lives.gate.set_result(None)
    places.take(broken())

    places.take(lives.make("next"))

    wait_until(lambda: lives.ended == ["next"])


def test_a_wait_that_fails_is_over_too(make_places, lives):
    failed = Future()
    failed.set_exception(ValueError("somebody else's"))
    lives.gate.set_result(None)
    places = make_places(1)

    places.take(lives.make("one", failed))

    wait_until(lambda: lives.ended == ["one"])


def test_once_closed_what_goes_on_comes_to_its_end_and_nothing_begins(make_places, lives):
    places = make_places(1)
    places.take(lives.make("begun", 0.01))
    places.take(lives.make("waits"))
    wait_until(lambda: lives.begun == ["begun"])

    places.close()

    with pytest.raises(RuntimeError):
        places.take(lives.make("late"))
    lives.gate.set_result(None)
    wait_until(lambda: lives.ended == ["begun"])
    assert lives.begun == ["begun"]


def test_a_crowd_needs_no_thread_for_who_waits_and_none_when_it_is_over(lives):
    before = set(threading.enumerate())
    crowd = Crowd(500, 2)
    for name in range(500):
        crowd.take(lives.make(name))
    wait_until(lambda: len(lives.begun) == 500)
    threads = set(threading.enumerate()) - before

    crowd.close()
    lives.gate.set_result(None)

    assert len(threads) == 3  # and one that wakes who waits for a time
    wait_until(lambda: len(lives.ended) == 500)
    wait_until(lambda: not any(thread.is_alive() for thread in threads))
