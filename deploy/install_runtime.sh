#!/bin/sh
# Inside an image: the shared libraries that the programs need.
set -eu
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
  libgrpc++1.51 libprotobuf32 libabsl20220623 libssl3 libsqlite3-0 libspdlog1.10 libpng16-16 \
  zlib1g >/dev/null
rm -rf /var/lib/apt/lists/*
