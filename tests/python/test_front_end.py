"""examples/ratings/front_end.py takes the token from where no other user can read it."""

import importlib.util
import io
import sys
import types

import grpc
import pytest
from servers import SOURCE

PROGRAM = SOURCE / "examples/ratings/front_end.py"


class Request(types.SimpleNamespace):
    SerializeToString = None


class Reply(types.SimpleNamespace):
    @classmethod
    def FromString(cls, text):
        return cls(recommendations=[], own_ratings=0)


class Channel:
    """Keeps the request; the reply is an empty list."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def unary_unary(self, method, request_serializer, response_deserializer):
        def call(request, timeout):
            self.request = request
            return response_deserializer(b"")

        return call


def program():
    spec = importlib.util.spec_from_file_location("front_end", PROGRAM)
    front_end = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(front_end)
    return front_end


def test_the_messages_stand_beside_the_installed_package():
    import dpnmf.v1.analyst_pb2  # noqa: F401

    request = program().messages().GetRecommendationsRequest(token="a.b.c", top=3)
    assert request.DESCRIPTOR.full_name == "dpnmf.recommend.v1.GetRecommendationsRequest"


@pytest.fixture
def token_sent(monkeypatch, tmp_path):
    """The token of the request that the program makes with these flags."""
    spec = importlib.util.spec_from_file_location("front_end", PROGRAM)
    front_end = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(front_end)
    messages = types.SimpleNamespace(GetRecommendationsRequest=Request, GetRecommendationsReply=Reply)
    monkeypatch.setattr(front_end, "messages", lambda: messages)
    channel = Channel()
    monkeypatch.setattr(grpc, "secure_channel", lambda *where: channel)
    (tmp_path / "pem").write_text("")

    def run(*flags):
        files = [word for name in ("ca", "cert", "key") for word in (f"--{name}", str(tmp_path / "pem"))]
        monkeypatch.setattr(sys, "argv", ["front_end.py", "--server", "here:1", *files, *flags])
        front_end.main()
        return channel.request.token

    return run


def test_the_token_comes_from_a_file_or_from_standard_input(token_sent, monkeypatch, tmp_path):
    (tmp_path / "token").write_text("a.b.c\n")
    monkeypatch.setattr(sys, "stdin", io.StringIO("d.e.f\n"))
    assert token_sent("--token-file", str(tmp_path / "token")) == "a.b.c"
    assert token_sent("--token-file", "-") == "d.e.f"
    assert token_sent("--token", "g.h.i") == "g.h.i"


def test_a_token_that_cannot_be_read_is_one_sentence(token_sent, tmp_path):
    (tmp_path / "binary").write_bytes(b"\xff\n")
    for name in ("none", "binary"):
        with pytest.raises(SystemExit) as refused:
            token_sent("--token-file", str(tmp_path / name))
        assert refused.value.code.startswith(f"The token cannot be read from {tmp_path / name}: ")


@pytest.mark.parametrize("flags", [[], ["--token", "a.b.c", "--token-file", "-"]])
def test_there_is_one_token(token_sent, flags, capsys):
    with pytest.raises(SystemExit) as refused:
        token_sent(*flags)
    assert refused.value.code == 2
    assert "--token-file" in capsys.readouterr().err
