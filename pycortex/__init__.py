"""Durable background jobs that live in PostgreSQL."""

from importlib.metadata import PackageNotFoundError, version

from pycortex.aio import AsyncRunner
from pycortex.errors import (
    AttemptLost,
    CortexError,
    ExecutorBroken,
    JobCancelled,
    JobFailed,
    JobNotFound,
    JobStopped,
    RunnerNotFound,
    WrongState,
)
from pycortex.events import RunnerEvent
from pycortex.handle import AsyncJobHandle, JobHandle
from pycortex.models import DebounceMode, Job, JobStatus, Verdict
from pycortex.progress import AsyncJobProgress, JobProgress
from pycortex.registry import job
from pycortex.runner import Runner
from pycortex.worker import Worker

__all__ = [
    "AsyncJobHandle",
    "AsyncJobProgress",
    "AsyncRunner",
    "AttemptLost",
    "CortexError",
    "DebounceMode",
    "ExecutorBroken",
    "Job",
    "JobCancelled",
    "JobFailed",
    "JobHandle",
    "JobNotFound",
    "JobProgress",
    "JobStatus",
    "JobStopped",
    "Runner",
    "RunnerEvent",
    "RunnerNotFound",
    "Verdict",
    "Worker",
    "WrongState",
    "__version__",
    "job",
]

try:
    __version__ = version("pycortex-jobs")
except PackageNotFoundError:  # a checkout that isn't installed
    __version__ = "0"
