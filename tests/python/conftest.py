import pytest
from servers import Servers

from dpnmf import Client


@pytest.fixture(scope="session")
def servers():
    running = Servers()
    yield running
    running.close()


@pytest.fixture(scope="session")
def client(servers):
    with Client(config=str(servers.config)) as connected:
        yield connected


@pytest.fixture(autouse=True)
def no_settings_of_this_machine(monkeypatch, tmp_path):
    for name in ("CONFIG", "SERVER", "CA", "CERT", "KEY", "CRL", "USE_PROXY"):
        monkeypatch.delenv(f"DPNMF_{name}", raising=False)
    for name in ("grpc", "https", "http", "all", "no_grpc", "no"):
        monkeypatch.delenv(f"{name}_proxy", raising=False)
        monkeypatch.delenv(f"{name}_proxy".upper(), raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
