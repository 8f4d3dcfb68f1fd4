"""Bodies for processes of their own. Their first step says that they are at it."""

from __future__ import annotations

import logging
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections import deque
from contextlib import suppress
from itertools import repeat

from pycortex import JobFailed, JobProgress

log = logging.getLogger("shop.orders")


def where(progress: JobProgress) -> dict[str, int]:
    """Tell where it runs."""
    return {
        "pid": os.getpid(),
        "parent": os.getppid(),
        "session": os.getsid(0),
        "group": os.getpgrp(),
    }


def echo(progress: JobProgress) -> object:
    return [progress.params, progress.kind, progress.actor, progress.attempt, str(progress.uuid)]


def count(progress: JobProgress) -> int:
    for number in range(1, progress.params["to"] + 1):
        progress.step(number, progress.params["to"], f"number {number}")
    return number


def session_name(progress: JobProgress) -> str:
    [name] = progress.connection().execute("show application_name").fetchone()
    return name


def activity(progress: JobProgress) -> int:
    """Tell which session the database knows as the job's."""
    conn = progress.connection()
    query = "select pid from cortex.job_activity where job = %s"
    [pid] = conn.execute(query, [progress.uuid]).fetchone()
    assert pid == conn.info.backend_pid
    return pid


def give_up(progress: JobProgress) -> None:
    raise JobFailed("the shop is closed", result={"sold": 3})


class OddError(Exception):
    """Its arguments can't be pickled."""

    def __init__(self) -> None:
        super().__init__(lambda: 0)

    def __str__(self) -> str:
        return "odd"


def stumble(progress: JobProgress) -> None:
    progress.step(1, 3, "stumbling")
    raise OddError


def leave(progress: JobProgress) -> None:
    sys.exit(3)


def leave_at_once(progress: JobProgress) -> None:
    progress.step(2, 5, "two of five", flush=True)
    os._exit(progress.params.get("code", 3))


def die_by(progress: JobProgress) -> None:
    progress.step(2, 5, "two of five", flush=True)
    number = signal.Signals[progress.params["signal"]]
    signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None
    os.kill(os.getpid(), number)
    time.sleep(600)


def die_by_number(progress: JobProgress) -> None:
    os.kill(os.getpid(), progress.params["number"])
    time.sleep(600)


def abort(progress: JobProgress) -> None:
    os.abort()


def crash_once(progress: JobProgress) -> dict[str, int]:
    if progress.attempt == 1:
        progress.step(1, 1, str(os.getpid()), flush=True)
        os._exit(9)
    return {"pid": os.getpid(), "attempt": progress.attempt}


def eat(progress: JobProgress) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
    bytearray(2**31)


def give_huge(progress: JobProgress) -> str:
    return "x" * (7 << 20)


def give_unfit(progress: JobProgress) -> object:
    return threading.Lock()


def talk(progress: JobProgress) -> None:
    log.debug("in detail")
    log.warning("order %d is late", 7, extra={"order": 7, "lock": threading.Lock()})
    logging.getLogger("noisy").warning("never mind")
    try:
        raise ValueError("torn")
    except ValueError:
        log.exception("parcel lost")


def talk_much(progress: JobProgress) -> int:
    for number in range(5000):
        log.warning("line %d", number)
    return number


def talk_in_fork(progress: JobProgress) -> int:
    """Log more in a fork than may wait to be sent."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of threads
        pid = os.fork()
    if not pid:
        for number in range(3000):
            log.info("line %d", number)
        log.warning("the fork is done")
        os._exit(0)
    return os.waitpid(pid, 0)[1]


def write_out(progress: JobProgress) -> None:
    print("to stdout")
    print("to stderr", file=sys.stderr)
    print("from stdin", repr(sys.stdin.read()))


def at_it(progress: JobProgress, *others: int) -> None:
    """Say that it has begun, who it is and whom it has started."""
    progress.step(1, 2, " ".join(map(str, [os.getpid(), *others])), flush=True)


def be_deaf() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def spin(progress: JobProgress) -> None:
    at_it(progress)
    while True:
        pass


def nap(progress: JobProgress) -> None:
    at_it(progress)
    time.sleep(600)


def nap_deaf(progress: JobProgress) -> None:
    be_deaf()
    at_it(progress)
    while True:
        time.sleep(600)


def nap_deaf_with_session(progress: JobProgress) -> None:
    be_deaf()
    at_it(progress, progress.connection(new=True).info.backend_pid)
    while True:
        time.sleep(600)


def swallow(progress: JobProgress) -> None:
    """Heed nothing, as a bare except in a loop does."""
    at_it(progress)
    while True:
        with suppress(BaseException):
            time.sleep(600)


def hold_the_gil(progress: JobProgress) -> None:
    """Hang in compiled code that looks at no signals and lets no other thread move."""
    at_it(progress)
    deque(repeat(0), maxlen=0)


def query(progress: JobProgress) -> None:
    conn = progress.connection()
    at_it(progress, conn.info.backend_pid)
    conn.execute("select pg_sleep(600)")


def query_aside(progress: JobProgress) -> None:
    """In a session that the database doesn't know as the job's."""
    conn = progress.connection(new=True)
    at_it(progress, conn.info.backend_pid)
    conn.execute("select pg_sleep(600)")


def wait_for_program(progress: JobProgress) -> None:
    program = subprocess.Popen(["sleep", "600"])
    at_it(progress, program.pid)
    program.wait()


def wait_for_deaf_program(progress: JobProgress) -> None:
    be_deaf()
    wait_for_program(progress)


def leave_program(progress: JobProgress) -> int:
    return subprocess.Popen(["sleep", "600"]).pid


def leave_fork(progress: JobProgress) -> int:
    """Leave a process that holds open whatever this one had."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of threads
        pid = os.fork()
    if not pid:
        time.sleep(600)
        os._exit(0)
    return pid


def fork_and_nap(progress: JobProgress) -> None:
    at_it(progress, leave_fork(progress))
    time.sleep(600)


def crash_with_fork(progress: JobProgress) -> None:
    at_it(progress, leave_fork(progress))
    os._exit(4)


def leave_thread(progress: JobProgress) -> str:
    threading.Thread(target=time.sleep, args=[600]).start()
    return "done"


def close_everything(progress: JobProgress) -> None:
    at_it(progress)
    os.closerange(3, 256)
    time.sleep(600)


def tidy_up(progress: JobProgress) -> None:
    try:
        nap(progress)
    finally:
        with open(progress.params["file"], "w") as file:
            file.write("tidy")


def tidy_up_badly(progress: JobProgress) -> None:
    try:
        nap(progress)
    finally:
        raise ValueError("no broom")


def finish_soon(progress: JobProgress) -> str:
    """Do what is left, instead of ending at once."""
    with suppress(BaseException):
        nap(progress)
    return "finished"


def step_on(progress: JobProgress) -> None:
    at_it(progress)
    number = 1
    while True:
        number += 1
        progress.step(number, None, "on and on")
        time.sleep(0.01)


def look_around(progress: JobProgress) -> dict[str, object]:
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    return {
        "fds": len(os.listdir("/dev/fd")),
        "modules": sorted(sys.modules),
        "argv": sys.argv,
        "blocked": sorted(blocked),
        "main": sys.modules["__main__"].__name__,
        "method": multiprocessing.get_start_method(allow_none=True),
        "sigint": str(signal.getsignal(signal.SIGINT)),
    }


def double(number: int) -> int:
    return 2 * number


def use_pool(progress: JobProgress) -> list[int]:
    with multiprocessing.get_context(progress.params["method"]).Pool(2) as pool:
        return pool.map(double, range(5))


def overlap(progress: JobProgress) -> int:
    """Note begin and end in a file, to be seen if another attempt comes between."""
    with open(progress.params["file"], "a") as file:
        print("begin", progress.attempt, os.getpid(), file=file, flush=True)
    at_it(progress)
    if progress.attempt > 1:
        return progress.attempt
    be_deaf()
    while True:
        time.sleep(600)
