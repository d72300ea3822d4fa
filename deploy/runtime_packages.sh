#!/bin/sh
# Prints the packages that the programs need at run time, one a line. deploy/pin.sh
# reads them, and the images install the versions that it pinned.
cat <<'TEXT'
libgrpc++1.51
libprotobuf32
libabsl20220623
libssl3
libsqlite3-0
libspdlog1.10
libpng16-16
libprometheus-cpp-core1.0
libprometheus-cpp-pull1.0
libsvm3
libcpp-httplib0.11
zlib1g
TEXT
