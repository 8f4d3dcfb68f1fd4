"""The Docker tier: our image of PostgreSQL with pg_cron, started by testcontainers."""

from __future__ import annotations

import atexit
import hashlib
import os
import secrets
import socket
from pathlib import Path
from typing import Any, ClassVar

from tests.servers import Server, Unavailable, free_port

FOLDER = Path(__file__).parent / "docker"
LABEL = "pycortex.tests"
_API = "1.41"


class DockerServer(Server):
    """A container of the image in tests/docker, or of PYCORTEX_TEST_IMAGE."""

    kind = "docker"
    _open: ClassVar[set[DockerServer]] = set()

    def __init__(self, **environment: str) -> None:
        client = docker_client()
        try:
            remove_leftovers(client)
            image = ensure_image(client)
        finally:
            client.close()

        # We remove our own containers; the reaper's image can't be had everywhere.
        os.environ.setdefault("TESTCONTAINERS_RYUK_DISABLED", "true")
        from testcontainers.core.container import DockerContainer

        password, port = secrets.token_urlsafe(16), free_port()
        self.params = {"host": "127.0.0.1", "port": port, "user": "postgres", "password": password}
        self.container = DockerContainer(
            image,
            env={"POSTGRES_PASSWORD": password} | environment,
            name=f"pycortex-test-{os.getpid()}-{port}",
            labels={LABEL: f"{socket.gethostname()} {os.getpid()}"},
            shm_size="256m",
        ).with_bind_ports(5432, port)
        DockerServer._open.add(self)
        try:
            self.container.start()
            self.wait_ready()
        except BaseException:
            self.close()
            raise

    def log(self) -> str:
        wrapped = self.container.get_wrapped_container()
        return wrapped.logs(tail=40).decode(errors="replace") if wrapped else ""

    def close(self) -> None:
        if self in DockerServer._open:
            DockerServer._open.discard(self)
            self.container.stop(force=True)
            self.container.get_docker_client().client.close()


@atexit.register
def _close_all() -> None:
    for server in tuple(DockerServer._open):
        server.close()


def docker_client() -> Any:
    """
    A client of the Docker that runs here.

    Raises:
        Unavailable: The client library is missing, or nothing answers.
    """
    try:
        import docker
    except ImportError as error:
        raise Unavailable("testcontainers isn't installed: make test installs it") from error
    _knock()
    client = docker.from_env(version=_API, timeout=600)  # with a version it doesn't connect yet
    try:
        client.ping()
    except Exception as error:
        client.close()
        raise Unavailable(f"Docker doesn't answer, start it (dockerd): {_short(error)}") from error
    return client


def _knock() -> None:
    """See whether anybody is behind the socket; the client library leaks one when nobody is."""
    address = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    if address.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(address.removeprefix("unix://"))
            except OSError as error:
                raise Unavailable(f"Docker doesn't answer, start it (dockerd): {error}") from error


def ensure_image(client: Any) -> str:
    """The name of the image to run; builds it where it isn't there yet."""
    import docker

    given = os.environ.get("PYCORTEX_TEST_IMAGE")
    tag = given or f"pycortex-test-postgres:{_digest()}"
    try:
        client.images.get(tag)
    except docker.errors.ImageNotFound:
        if given:
            raise Unavailable(f"there is no image {given} (PYCORTEX_TEST_IMAGE)") from None
        try:
            client.images.build(path=str(FOLDER), tag=tag, network_mode="host", rm=True)
        except (docker.errors.BuildError, docker.errors.APIError) as error:
            raise Unavailable(f"can't build tests/docker: {_short(error)}") from error
    return tag


def remove_leftovers(client: Any) -> None:
    """Remove containers of test processes on this host that are gone, killed before they could."""
    for container in client.containers.list(all=True, filters={"label": LABEL}):
        host, _, pid = container.labels[LABEL].partition(" ")
        if host == socket.gethostname() and not Path(f"/proc/{pid}").exists():
            container.remove(force=True, v=True)


def _digest() -> str:
    """Names the content of the folder, so that a changed one is built anew."""
    content = b"".join(path.read_bytes() for path in sorted(FOLDER.iterdir()))
    return hashlib.sha256(content).hexdigest()[:12]


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
