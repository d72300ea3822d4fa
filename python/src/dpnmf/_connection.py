"""How the analyst's server is reached: settings, certificates, the channel."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
import secrets
import socket
import ssl
import stat
import sys
from typing import Any

import grpc

from dpnmf.errors import AccessError, DpnmfError, InputError, NotFoundError, StateError, UnavailableError, error_of
from dpnmf.v1 import privacy_pb2

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_KEYS = ("server", "ca", "cert", "key", "crl", "use-proxy")
_PROBE_SECONDS = 5.0


@dataclasses.dataclass(frozen=True)
class Settings:
    """Where the server is, and the files of mutual TLS."""

    server: str  # HOST:PORT
    ca: str  # PEM: the CA's certificate
    cert: str  # PEM: the own certificate
    key: str  # PEM: the own key
    proxy: Proxy | None = None


@dataclasses.dataclass(frozen=True)
class Proxy:
    """An HTTP proxy of the environment."""

    variable: str  # that names it
    address: str  # HOST:PORT
    user_info: str  # USER:PASSWORD, or empty

    def __str__(self) -> str:
        return f"the proxy http://{self.address} that {self.variable} names"


def read_settings(
    server: str | None,
    ca: str | None,
    cert: str | None,
    key: str | None,
    config: str | None,
    use_proxy: bool | None = None,
) -> Settings:
    """Arguments win over the environment, that over the configuration file.

    The environment is DPNMF_SERVER, DPNMF_CA, DPNMF_CERT, DPNMF_KEY and
    DPNMF_USE_PROXY. The file is `config`, else DPNMF_CONFIG, else ./dpnmf.toml,
    else ~/.config/dpnmf.toml: the same as for the program `dpnmf`. Paths in it are
    relative to its directory.
    """
    given = {"server": server, "ca": ca, "cert": cert, "key": key}
    values = _read_config(config)
    values.update({k: v for k in _KEYS if (v := os.environ.get(f"DPNMF_{k.upper().replace('-', '_')}"))})
    values.update({k: os.fspath(v) for k, v in given.items() if v is not None})
    if use_proxy is None:
        use_proxy = _truth(values.get("use-proxy", "off"))
    if values.get("crl"):
        raise InputError(
            "crl-unsupported",
            "This package cannot check a revocation list (DPNMF_CRL or `crl` in the file); "
            "remove it, or use the program dpnmf.",
        )
    for name in ("ca", "cert", "key"):
        if not values.get(name):
            raise InputError(
                "tls-files-missing",
                f"Give {name}=FILE (or set DPNMF_{name.upper()}): the server is reached over mutual TLS.",
            )
    host, _ = split_address(values.get("server", ""))
    proxy = proxy_of_environment(host) if use_proxy else None
    return Settings(values["server"], values["ca"], values["cert"], values["key"], proxy)


def _truth(word: str) -> bool:
    """The words that the program takes, too."""
    if word == "on" or word.lower() in ("true", "t", "yes", "y", "1"):
        return True
    if word == "off" or word.lower() in ("false", "f", "no", "n", "0"):
        return False
    source = "DPNMF_USE_PROXY" if os.environ.get("DPNMF_USE_PROXY") else "`use-proxy` in the configuration file"
    raise InputError("usage", f"{source} must be on or off, not `{word}`.")


def proxy_of_environment(host: str) -> Proxy | None:
    """The proxy by which the environment wants `host` reached; as the program `dpnmf` reads it."""

    def first(*names: str) -> tuple[str, str]:
        return next(((name, value) for name in names if (value := os.environ.get(name))), ("", ""))

    variable, text = first("grpc_proxy", "https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy", "ALL_PROXY")
    exempt = [entry.strip().lower() for entry in first("no_grpc_proxy", "no_proxy", "NO_PROXY")[1].split(",")]
    if not variable or any(entry == "*" or (entry and host.lower().endswith(entry)) for entry in exempt):
        return None
    user_info, _, address = re.sub("^http://", "", text, flags=re.IGNORECASE).removesuffix("/").rpartition("@")
    try:
        # "/": of another scheme. gRPC takes the others for parts of a URI.
        if not re.fullmatch("[!-~]*", user_info + address) or re.search("[@/%#?]", f"{user_info} {address}"):
            raise InputError("address-malformed", "")
        split_address(address)
    except InputError:
        raise StateError(
            "proxy-unusable",
            f"The variable {variable} names no HTTP proxy that can be used; set it to "
            "http://[USER:PASSWORD@]HOST:PORT, without blanks and @ / % # ? in the password, "
            "or do not ask for a proxy (use_proxy).",
        ) from None
    return Proxy(variable, address, user_info)


def _read_config(config: str | None) -> dict[str, str]:
    named = config or os.environ.get("DPNMF_CONFIG")
    usual = [pathlib.Path("dpnmf.toml"), pathlib.Path.home() / ".config" / "dpnmf.toml"]
    path: pathlib.Path | None = pathlib.Path(named) if named else None
    if path is None:
        path = next((p for p in usual if p.is_file()), None)
    if path is None:
        return {}
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError("usage", f"The configuration file {path} cannot be read ({error.strerror}).") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError("usage", f"The configuration file {path} is not TOML: {error}.") from None
    values: dict[str, str] = {}
    for name, value in table.items():
        if isinstance(value, dict) or name == "format":  # of the program's commands
            continue
        if name not in _KEYS:
            raise InputError("usage", f"The configuration file {path} has an unknown key `{name}`; remove it.")
        if name == "use-proxy" and isinstance(value, bool):
            value = "on" if value else "off"
        if not isinstance(value, str):
            raise InputError("usage", f"`{name}` in {path} must be a string.")
        is_path = name not in ("server", "use-proxy") and value
        values[name] = _path_in(path, value) if is_path else value
    return values


def _path_in(file: pathlib.Path, value: str) -> str:
    if not value.startswith("~/"):
        return str(file.parent / value)
    home = os.environ.get("HOME")
    if not home:
        raise InputError("usage", f"`{value}` in {file} needs HOME, which is not set; write the whole path.")
    return home + value[1:]


def split_address(text: str) -> tuple[str, int]:
    """HOST:PORT or [IPV6]:PORT; raises InputError "address-malformed"."""
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif any(c in host for c in ":[]/ "):
        host = ""
    if colon and host and port.isascii() and port.isdigit() and 1 <= int(port) <= 65535:
        return host, int(port)
    raise InputError(
        "address-malformed", f"`{text[:253]}` is not an address; write HOST:PORT, for example localhost:7432."
    )


def check_files(settings: Settings) -> None:
    """Raises StateError for files with which no handshake can succeed."""
    for path in (settings.ca, settings.cert, settings.key):
        _read(path)
    if os.stat(settings.key).st_mode & stat.S_IROTH:
        raise StateError(
            "tls-key-readable",
            f"Every user of this machine may read the private key {settings.key}; run chmod 0400 on it.",
        )
    own_certificate(settings)


def _read(path: str) -> bytes:
    try:
        return pathlib.Path(path).read_bytes()
    except OSError as error:
        raise StateError("tls-file-unreadable", f"The file {path} cannot be read ({error.strerror}).") from None


def own_certificate(settings: Settings) -> dict[str, Any]:
    """The own certificate as the server will see it, by a handshake in memory.

    It is checked like a client's: dates, the CA's signature, purpose, key.
    """
    try:
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.verify_mode = ssl.CERT_REQUIRED
        server.load_verify_locations(cafile=settings.ca)
    except ssl.SSLError:
        raise StateError("tls-certificate-invalid", f"{settings.ca} is not a certificate in PEM.") from None
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_mode = ssl.CERT_NONE
    for context in (server, client):
        _load_own(context, settings)
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_side=False),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    try:
        for _ in range(4):
            for end in ends:
                try:
                    end.do_handshake()
                except ssl.SSLWantReadError:
                    pass
    except ssl.SSLCertVerificationError as error:
        advice = {
            2: f"; add the certificate of the root CA to {settings.ca}",
            20: "; if an intermediate CA signed it, put its certificate after your own certificate in the same file",
        }
        raise StateError(
            "tls-certificate-invalid",
            f"The certificate {settings.cert} is refused with the CA {settings.ca}: {error.verify_message}"
            f"{advice.get(error.verify_code, '')}.",
        ) from None
    except ssl.SSLError as error:
        raise StateError(
            "tls-certificate-invalid", f"The certificate {settings.cert} cannot be used: {error.reason}."
        ) from None
    certificate = ends[1].getpeercert() or {}
    if not identities_of(certificate):
        raise StateError("tls-certificate-invalid", f"The certificate {settings.cert} states no DNS or URI name.")
    return certificate


def _load_own(context: ssl.SSLContext, settings: Settings) -> None:
    def no_passphrase() -> bytes:  # else OpenSSL asks on the terminal
        raise StateError("tls-key-mismatch", f"The key {settings.key} has a passphrase; give one without.")

    try:
        context.load_cert_chain(settings.cert, settings.key, password=no_passphrase)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise StateError(
                "tls-key-mismatch",
                f"The key {settings.key} does not belong to the first certificate of {settings.cert}; "
                "your own certificate must come first, then the CA's that signed it.",
            ) from None
        raise StateError(
            "tls-certificate-invalid",
            f"{settings.cert} and {settings.key} are not a certificate and its key in PEM.",
        ) from None


def identities_of(certificate: dict[str, Any]) -> list[str]:
    """ "dns:NAME" and "uri:URI", as the servers name a peer."""
    names = []
    for kind, value in certificate.get("subjectAltName", ()):
        if kind == "DNS":
            names.append(f"dns:{value.lower()}")
        elif kind == "URI":
            names.append(f"uri:{value}")
    return names


def open_channel(settings: Settings) -> grpc.Channel:
    credentials = grpc.ssl_channel_credentials(
        root_certificates=_read(settings.ca),
        private_key=_read(settings.key),
        certificate_chain=_read(settings.cert),
    )
    options: list[tuple[str, str | int]] = [("grpc.keepalive_time_ms", 20_000), ("grpc.keepalive_timeout_ms", 10_000)]
    proxy = settings.proxy
    if proxy is None:  # also none of the environment
        options.append(("grpc.enable_http_proxy", 0))
    else:
        user_info = f"{proxy.user_info}@" if proxy.user_info else ""
        options.append(("grpc.http_proxy", f"http://{user_info}{proxy.address}"))
    return grpc.secure_channel(settings.server, credentials, options)


def trace() -> tuple[tuple[str, str], ...]:
    """The W3C header by which both servers' audit logs name the call."""
    return (("traceparent", f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01"),)


def from_rpc(error: grpc.RpcError, settings: Settings) -> DpnmfError:
    """The exception for a failed call; asks why if no connection came about."""
    kind = error.code().name
    text = error.details() or ""
    for name, value in error.trailing_metadata() or ():
        if name != "grpc-status-details-bin":
            continue
        detail = privacy_pb2.ErrorDetail()
        try:
            detail.ParseFromString(value)
        except Exception:  # not a detail of ours
            continue
        if detail.code:
            return error_of(kind, detail.code, text)
    if kind == "UNAVAILABLE":
        return diagnose(settings, text)
    if kind == "DEADLINE_EXCEEDED":
        return error_of(kind, "deadline-exceeded", "The server did not answer in time; try again.")
    if kind == "CANCELLED":
        return error_of(kind, "cancelled", "The call was cancelled.")
    if kind == "UNAUTHENTICATED":
        return error_of(kind, "not-authenticated", f"The server does not accept this certificate ({text}).")
    if kind == "UNIMPLEMENTED":
        return error_of(
            kind,
            "rpc-failed",
            "The server does not know this call: another program uses the address, or it is of an earlier version.",
        )
    if kind == "RESOURCE_EXHAUSTED":  # of the transport; no budget
        if text == "Server Threadpool Exhausted":
            return UnavailableError("busy", "The server has reached its limit of open calls; try again.")
        kind = "INTERNAL"
    return error_of(kind, "rpc-failed", f"The call failed: {text.rstrip('.')}.")


def diagnose(settings: Settings, text: str) -> DpnmfError:
    """Why the server cannot be reached: name, port, certificates of either side."""
    host, port = split_address(settings.server)
    if settings.proxy is not None:
        return UnavailableError(
            "unreachable", f"The server {settings.server} cannot be reached through {settings.proxy} ({text})."
        )
    try:
        connection = socket.create_connection((host, port), timeout=_PROBE_SECONDS)
    except socket.gaierror as error:
        return UnavailableError("name-unknown", f"The name {host} has no address ({error.strerror}).")
    except OSError as error:
        return UnavailableError(
            "port-closed",
            f"Nothing accepts connections at {settings.server} ({error.strerror or error}); "
            "start the server, or check the address.",
        )
    with connection:
        try:
            check_files(settings)
            return _shake_hands(connection, host, settings, text)
        except DpnmfError as error:
            return error


def _shake_hands(connection: socket.socket, host: str, settings: Settings, text: str) -> DpnmfError:
    context = ssl.create_default_context(cafile=settings.ca)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.hostname_checks_common_name = False
    context.set_alpn_protocols(["h2"])
    _load_own(context, settings)
    refused = AccessError(
        "not-authenticated",
        f"The server {settings.server} does not accept the certificate {settings.cert}: it is expired or revoked, "
        "or another CA signed it; the server's log says which.",
    )
    try:
        with context.wrap_socket(connection, server_hostname=host) as tls:
            # In TLS 1.3 a client learns only now whether its certificate was
            # taken. An HTTP/2 server speaks first.
            if not tls.recv(1):
                return refused
    except ssl.SSLCertVerificationError as error:
        code = {9: "certificate-not-yet-valid", 10: "certificate-expired", 62: "certificate-wrong-name"}
        code[64] = code[62]
        return AccessError(
            code.get(error.verify_code, "certificate-unknown-ca"),
            f"The certificate of the server {settings.server} is refused: {error.verify_message.rstrip('.')}.",
        )
    except (ssl.SSLError, ConnectionError) as error:
        if isinstance(error, ConnectionError) or "ALERT" in (error.reason or ""):
            return refused
        return UnavailableError("unreachable", f"The server {settings.server} does not speak TLS 1.3 ({error.reason}).")
    except OSError:
        pass
    return UnavailableError("unreachable", f"The server {settings.server} cannot be reached ({text}).")


def not_found_dataset(name: str, names: list[str]) -> NotFoundError:
    known = ", ".join(names) if names else "none"
    return NotFoundError("dataset-unknown", f"There is no data set '{name}'; this analyst may use: {known}.")
