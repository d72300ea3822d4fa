"""Where the server and the certificates come from, and files that cannot work."""

import os

import pytest
from servers import run

from dpnmf import Client, InputError, StateError
from dpnmf._connection import proxy_of_environment


def refusal(kind, **settings):
    with pytest.raises(kind) as caught:
        Client(**settings)
    sentence = caught.value.sentence
    assert sentence.endswith(".") and "\n" not in sentence
    return caught.value.code, sentence


def test_the_configuration_file_of_the_program_is_read(servers, monkeypatch):
    assert repr(Client(config=str(servers.config))) == f"Client('{servers.server}')"
    monkeypatch.setenv("DPNMF_CONFIG", str(servers.config))
    assert repr(Client()) == f"Client('{servers.server}')"


def test_the_working_directory_comes_before_the_home(servers, tmp_path):
    text = servers.config.read_text()
    home = tmp_path / ".config"
    home.mkdir()
    (home / "dpnmf.toml").write_text(text.replace(servers.server, "home:1"))
    assert repr(Client()) == "Client('home:1')"
    (tmp_path / "dpnmf.toml").write_text(text.replace(servers.server, "here:1"))
    assert repr(Client()) == "Client('here:1')"


def test_arguments_win_over_the_environment_and_that_over_the_file(servers, monkeypatch):
    monkeypatch.setenv("DPNMF_CONFIG", str(servers.config))
    monkeypatch.setenv("DPNMF_SERVER", "variable:1")
    assert repr(Client()) == "Client('variable:1')"
    assert repr(Client("argument:1")) == "Client('argument:1')"


def test_sections_of_the_programs_commands_are_left_alone(servers, tmp_path):
    path = tmp_path / "more.toml"
    path.write_text(servers.config.read_text() + '[train]\nrank = 3\n')
    Client(config=str(path))


def test_paths_in_the_file_are_relative_to_its_directory(servers, tmp_path):
    files = servers.settings("alice")
    (tmp_path / "etc").mkdir()
    (tmp_path / "certs").symlink_to(servers.work / "certs")
    path = tmp_path / "etc" / "c.toml"
    path.write_text(
        f'server = "{servers.server}"\nca = "../certs/alice/ca.crt"\ncert = "~/certs/alice/tls.crt"\n'
        f'key = "{files["key"]}"\n'
    )
    assert Client(config=str(path)).identities == ["dns:alice.client"]


@pytest.mark.parametrize("name", ["ca", "cert", "key"])
def test_a_missing_setting_names_its_argument_and_its_variable(servers, name):
    settings = servers.settings("alice")
    del settings[name]
    code, sentence = refusal(InputError, **settings)
    assert code == "tls-files-missing" and f"{name}=FILE" in sentence and f"DPNMF_{name.upper()}" in sentence


@pytest.mark.parametrize("server", ["", "localhost", "localhost:0", "localhost:65536", "::1:7432", "a b:1", "h:²"])
def test_a_malformed_address_is_refused(servers, server):
    code, _ = refusal(InputError, **{**servers.settings("alice"), "server": server})
    assert code == "address-malformed"


def test_an_ipv6_address_takes_brackets(servers):
    Client(**{**servers.settings("alice"), "server": "[::1]:7432"})


@pytest.mark.parametrize(
    ("text", "says"),
    [("server = [", "not TOML"), ("servre = 'x:1'", "servre"), ("server = 7", "must be a string")],
)
def test_a_malformed_file_is_refused(tmp_path, text, says):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    code, sentence = refusal(InputError, config=str(path))
    assert code == "usage" and says in sentence


@pytest.mark.parametrize(
    ("variables", "text"),
    [
        ({"http_proxy": "http://p:1", "https_proxy": "http://q:1"}, "http://q:1 that https_proxy"),
        ({"HTTPS_PROXY": "HTTP://p:1/"}, "http://p:1 that HTTPS_PROXY"),
        ({"grpc_proxy": "p:1"}, "http://p:1 that grpc_proxy"),
        ({"all_proxy": "http://ann:secret@p:1"}, "http://p:1 that all_proxy"),
        ({"https_proxy": "http://p:1", "no_proxy": "a.b, Example"}, ""),
        ({"https_proxy": "http://p:1", "NO_PROXY": "*"}, ""),
        ({}, ""),
    ],
)
def test_the_first_variable_that_is_set_names_the_proxy(monkeypatch, variables, text):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    proxy = proxy_of_environment("lab.example")
    assert (f"the proxy {text} names" if text else "None") == str(proxy)


def test_a_variable_that_names_no_http_proxy_is_refused_if_it_is_asked_for(servers, monkeypatch):
    bad = [f"http://ann:secret{c}@p:1" for c in "@%#? \n"]
    for value in ("socks5://ann:secret@p:1080", "https://p:1", "http://p", "http://p:1/path", *bad):
        monkeypatch.setenv("https_proxy", value)
        code, sentence = refusal(StateError, **servers.settings("alice"), use_proxy=True)
        assert code == "proxy-unusable" and "https_proxy" in sentence and "secret" not in sentence
        Client(**servers.settings("alice"))


def test_the_words_for_a_proxy_are_the_programs(servers, tmp_path, monkeypatch):
    monkeypatch.setenv("DPNMF_USE_PROXY", "y")
    Client(**servers.settings("alice"))
    monkeypatch.setenv("DPNMF_USE_PROXY", "ON")
    assert "DPNMF_USE_PROXY must be on or off, not `ON`" in refusal(InputError, **servers.settings("alice"))[1]
    monkeypatch.delenv("DPNMF_USE_PROXY")
    path = tmp_path / "c.toml"
    path.write_text('use-proxy = "perhaps"\n')
    sentence = refusal(InputError, **servers.settings("alice"), config=str(path))[1]
    assert "`use-proxy` in the configuration file must be on or off" in sentence


def test_a_path_in_the_home_needs_a_home(tmp_path, monkeypatch):
    path = tmp_path / "c.toml"
    path.write_text('ca = "~/ca.crt"\n')
    monkeypatch.setenv("HOME", "")
    code, sentence = refusal(InputError, config=str(path))
    assert code == "usage" and "HOME" in sentence


def test_a_named_file_must_exist(tmp_path):
    code, _ = refusal(InputError, config=str(tmp_path / "none.toml"))
    assert code == "usage"


def test_a_revocation_list_is_not_silently_ignored(servers, monkeypatch):
    monkeypatch.setenv("DPNMF_CRL", "ca.crl")
    code, _ = refusal(InputError, config=str(servers.config))
    assert code == "crl-unsupported"


def test_an_unreadable_file_is_named(servers):
    code, sentence = refusal(StateError, **{**servers.settings("alice"), "cert": "/none.crt"})
    assert code == "tls-file-unreadable" and "/none.crt" in sentence


def test_a_file_that_is_no_certificate_is_named(servers, tmp_path):
    path = tmp_path / "text.crt"
    path.write_text("no certificate")
    for name in ("ca", "cert"):
        code, sentence = refusal(StateError, **{**servers.settings("alice"), name: str(path)})
        assert code == "tls-certificate-invalid" and str(path) in sentence


def test_the_key_of_another_certificate_is_refused(servers):
    other = servers.settings("mallory")["key"]
    code, sentence = refusal(StateError, **{**servers.settings("alice"), "key": other})
    assert code == "tls-key-mismatch" and other in sentence


def test_a_key_that_everybody_may_read_is_refused(servers, tmp_path):
    path = tmp_path / "tls.key"
    path.write_bytes(open(servers.settings("alice")["key"], "rb").read())
    path.chmod(0o644)
    code, sentence = refusal(StateError, **{**servers.settings("alice"), "key": str(path)})
    assert code == "tls-key-readable" and "chmod 0400" in sentence
    path.chmod(0o400)
    Client(**{**servers.settings("alice"), "key": str(path)})


def test_a_key_with_a_passphrase_does_not_ask_on_the_terminal(servers, tmp_path):
    path = tmp_path / "tls.key"
    run("openssl", "pkey", "-in", servers.settings("alice")["key"], "-aes128", "-passout", "pass:x", "-out", path)
    code, _ = refusal(StateError, **{**servers.settings("alice"), "key": str(path)})
    assert code == "tls-key-mismatch"


def test_a_certificate_of_another_authority_is_refused(servers, tmp_path):
    servers.certs("init", tmp_path)
    code, sentence = refusal(StateError, **{**servers.settings("alice"), "ca": str(tmp_path / "ca/ca.crt")})
    assert code == "tls-certificate-invalid" and "refused with the CA" in sentence


def test_a_chain_says_which_certificate_is_missing(servers, tmp_path):
    make = ("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc")
    (tmp_path / "ext").write_text("[mid]\nbasicConstraints=critical,CA:TRUE\n[own]\nsubjectAltName=DNS:own\n")
    files = {who: [str(tmp_path / f"{who}.{end}") for end in ("crt", "key", "csr")] for who in ("root", "mid", "own")}
    run(*make, "-x509", "-subj", "/CN=root", "-out", files["root"][0], "-keyout", files["root"][1])
    for who, signer in (("mid", "root"), ("own", "mid")):
        run(*make, "-subj", f"/CN={who}", "-out", files[who][2], "-keyout", files[who][1])
        run(
            "openssl", "x509", "-req", "-in", files[who][2], "-CA", files[signer][0], "-CAkey", files[signer][1],
            "-set_serial", "7", "-extfile", tmp_path / "ext", "-extensions", who, "-out", files[who][0],
        )  # fmt: skip

    def says(ca, *chain):
        joined = tmp_path / "chain.crt"
        joined.write_text("".join(open(files[who][0]).read() for who in chain))
        return refusal(StateError, server="h:1", ca=files[ca][0], cert=str(joined), key=files["own"][1])

    assert "put its certificate after your own certificate" in says("root", "own")[1]
    assert f"add the certificate of the root CA to {files['mid'][0]}" in says("mid", "own")[1]
    code, sentence = says("root", "mid", "own")
    assert code == "tls-key-mismatch" and "your own certificate must come first" in sentence


def test_an_expired_certificate_is_refused(servers, tmp_path):
    ca = servers.work / "certs" / "ca"
    request = tmp_path / "request.csr"
    run("openssl", "req", "-new", "-key", servers.settings("alice")["key"], "-subj", "/CN=alice", "-out", request)
    extensions = tmp_path / "extensions"
    extensions.write_text("extendedKeyUsage=clientAuth\nsubjectAltName=DNS:alice.client\n")
    expired = tmp_path / "expired.crt"
    run(
        "openssl", "x509", "-req", "-in", request, "-CA", ca / "ca.crt", "-CAkey", ca / "ca.key", "-set_serial", "7",
        "-days", "-1", "-extfile", extensions, "-out", expired,
    )  # fmt: skip
    code, sentence = refusal(StateError, **{**servers.settings("alice"), "cert": str(expired)})
    assert code == "tls-certificate-invalid" and "expired" in sentence


def test_the_client_knows_its_own_identity(client):
    assert client.identities == ["dns:alice.client"]


def test_no_file_is_left_open(servers):
    def opened():
        return len(os.listdir("/proc/self/fd"))

    before = opened()
    for _ in range(5):
        Client(config=str(servers.config))
    assert opened() == before


