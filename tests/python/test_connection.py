"""A server that is not there, or is another one: one sentence each."""

import contextlib
import socket
import ssl
import threading

import pytest

from dpnmf import AccessError, Client, InternalError, UnavailableError


def refusal(kind, **settings):
    with Client(**settings) as client, pytest.raises(kind) as caught:
        client.datasets()
    sentence = caught.value.sentence
    assert sentence.endswith(".") and "\n" not in sentence
    return caught.value


@contextlib.contextmanager
def listener(serve):
    """A server of one port that gives every connection to `serve`."""
    with socket.create_server(("127.0.0.1", 0)) as port:
        stop = threading.Event()

        def accept():
            while not stop.is_set():
                with contextlib.suppress(OSError):
                    connection, _ = port.accept()
                    with connection, contextlib.suppress(OSError):
                        serve(connection)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"127.0.0.1:{port.getsockname()[1]}"
        stop.set()
        with contextlib.suppress(OSError):
            socket.create_connection(port.getsockname(), timeout=5).close()
        thread.join(5)


def tls(settings):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(settings["cert"], settings["key"])
    context.set_alpn_protocols(["h2"])

    def serve(connection):
        connection.settimeout(5)
        context.wrap_socket(connection, server_side=True).close()

    return serve


def test_nothing_listens(servers):
    with socket.create_server(("127.0.0.1", 0)) as port:
        server = f"127.0.0.1:{port.getsockname()[1]}"
    error = refusal(UnavailableError, **{**servers.settings("alice"), "server": server})
    assert error.code == "port-closed" and server in error.sentence and error.retriable


@pytest.mark.parametrize("name", ["grpc_proxy", "https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy"])
def test_a_proxy_of_the_environment_is_used_only_if_it_is_asked_for(servers, monkeypatch, tmp_path, name):
    monkeypatch.setenv(name, "http://127.0.0.1:9")  # nobody listens there
    with Client(**servers.settings("alice")) as client:
        assert client.datasets()
    error = refusal(UnavailableError, **servers.settings("alice"), use_proxy=True)
    assert error.code == "unreachable" and f"the proxy http://127.0.0.1:9 that {name} names" in error.sentence
    path = tmp_path / "proxy.toml"
    path.write_text("use-proxy = true\n" + servers.config.read_text())
    assert refusal(UnavailableError, config=str(path)).code == "unreachable"
    monkeypatch.setenv("DPNMF_USE_PROXY", "off")
    with Client(config=str(path)) as client:
        assert client.datasets()
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Client(**servers.settings("alice"), use_proxy=True) as client:
        assert client.datasets()


def test_a_name_without_an_address(servers):
    error = refusal(UnavailableError, **{**servers.settings("alice"), "server": "nobody.invalid:7432"})
    assert error.code == "name-unknown" and error.retriable


def test_a_server_of_another_authority(servers, tmp_path):
    servers.certs("demo", tmp_path)
    folder = tmp_path / "alice"
    files = {"ca": str(folder / "ca.crt"), "cert": str(folder / "tls.crt"), "key": str(folder / "tls.key")}
    error = refusal(AccessError, **files, server=servers.server)
    assert error.code == "certificate-unknown-ca" and not error.retriable


def test_a_server_of_another_name(servers):
    with listener(tls(servers.settings("mallory"))) as server:
        error = refusal(AccessError, **{**servers.settings("alice"), "server": server})
    assert error.code == "certificate-wrong-name"


def test_a_server_that_does_not_take_the_certificate(servers, tmp_path):
    """It trusts another CA; its own certificate is trusted."""
    servers.certs("demo", tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=tmp_path / "ca" / "ca.crt")
    context.verify_mode = ssl.CERT_REQUIRED
    analyst = servers.settings("analyst")
    context.load_cert_chain(analyst["cert"], analyst["key"])
    context.set_alpn_protocols(["h2"])

    def serve(connection):
        connection.settimeout(5)
        context.wrap_socket(connection, server_side=True).close()

    with listener(serve) as server:
        error = refusal(AccessError, **{**servers.settings("alice"), "server": server})
    assert error.code == "not-authenticated"


def test_a_server_without_tls(servers):
    with listener(lambda connection: connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n")) as server:
        error = refusal(UnavailableError, **{**servers.settings("alice"), "server": server})
    assert error.code == "unreachable"


def test_a_client_that_is_not_on_the_list(servers):
    error = refusal(AccessError, **servers.settings("mallory"))
    assert error.code == "identity-unknown" and not error.retriable


def test_the_curators_port_is_not_the_analysts(servers):
    error = refusal(InternalError, **{**servers.settings("alice"), "server": f"127.0.0.1:{servers.curator_port}"})
    assert error.code == "rpc-failed" and "another program uses the address" in error.sentence
