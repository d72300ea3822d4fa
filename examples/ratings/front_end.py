#!/usr/bin/env python3
"""Asks RecommendService for the list of the one person whom a token names.

An example of an operator's front end (docs/reference/recommender.md, "The service"). Needs
grpcio and protobuf, and protoc, which compiles the service's messages as it starts.
The token comes from the system that knows who is logged in.
"""

import argparse
import importlib
import pathlib
import subprocess
import sys
import tempfile

import grpc

PROTO = "recommend.proto"
METHOD = "/dpnmf.recommend.v1.RecommendService/GetRecommendations"


def messages():
    """The messages of recommend.proto, compiled into a directory of its own and by a name
    of their own: the installed package `dpnmf` has no part `recommend`."""
    source = pathlib.Path(__file__).resolve().parents[2] / "proto/dpnmf/recommend/v1"
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(["protoc", "-I", source, "--python_out", directory, PROTO], check=True)
        sys.path.insert(0, directory)
        return importlib.import_module("recommend_pb2")


def token_of(flags):
    if flags.token is not None:
        return flags.token
    try:
        text = sys.stdin.read() if flags.token_file == "-" else pathlib.Path(flags.token_file).read_text()
    except (OSError, UnicodeError) as error:
        sys.exit(f"The token cannot be read from {flags.token_file}: {error}.")
    return text.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", required=True, help="HOST:PORT of --recommend-listen")
    for name in ("ca", "cert", "key"):
        parser.add_argument(f"--{name}", required=True, type=pathlib.Path, help="PEM file")
    token = parser.add_mutually_exclusive_group(required=True)
    token.add_argument("--token", help="every user of this machine can read it while the program runs (ps)")
    token.add_argument("--token-file", metavar="FILE", help="file with the token; - for standard input")
    parser.add_argument("--top", type=int, default=20)
    parser.add_argument("--explain", action="store_true")
    flags = parser.parse_args()

    recommend = messages()
    credentials = grpc.ssl_channel_credentials(
        flags.ca.read_bytes(), flags.key.read_bytes(), flags.cert.read_bytes())
    # No proxy that the environment sets for all programs.
    with grpc.secure_channel(flags.server, credentials, [("grpc.enable_http_proxy", 0)]) as channel:
        get_recommendations = channel.unary_unary(
            METHOD,
            request_serializer=recommend.GetRecommendationsRequest.SerializeToString,
            response_deserializer=recommend.GetRecommendationsReply.FromString)
        request = recommend.GetRecommendationsRequest(
            token=token_of(flags), top=flags.top, explain=flags.explain)
        try:
            reply = get_recommendations(request, timeout=5)
        except grpc.RpcError as error:
            sys.exit(f"{error.code().name}: {error.details()}")
    for place, one in enumerate(reply.recommendations, 1):
        print(f"{place:3}  {one.rating:.2f} +- {one.stddev:.2f}  {one.name or one.item}")
        for reason in one.because:
            print(f"     {reason.adds:+.2f} by {reason.rating:g} for {reason.name or reason.item}")
    print(f"from the model and {reply.own_ratings} own ratings")


if __name__ == "__main__":
    main()
