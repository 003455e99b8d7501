"""Fixtures of the archive's tests: a cache for each, a server, and the address of none."""

import socket
import threading

import pytest

from bfenv.workloads.archive import catalogue, download
from tests.workloads.archive.server import LOGS, Server


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache of this test's own, no other logs, no proxy; and the catalogue of two logs."""
    monkeypatch.setenv("BFENV_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("BFENV_TRACES", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(catalogue, "CATALOGUE", LOGS)
    return tmp_path / "cache" / "traces"


@pytest.fixture
def server(monkeypatch):
    """A server whose address is that of the archive."""
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setattr(download, "BASE", server.base)
    yield server
    server.shutdown()
    server.server_close()
    thread.join(10)
    assert not thread.is_alive()


@pytest.fixture
def closed(monkeypatch):
    """The address of the archive is that of a server that is not there."""
    with socket.socket() as port:
        port.bind(("127.0.0.1", 0))  # taken, but nothing listens
        base = f"http://127.0.0.1:{port.getsockname()[1]}/workload"
        monkeypatch.setattr(download, "BASE", base)
        yield base
