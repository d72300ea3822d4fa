#!/usr/bin/env bash
# dependency.sh SOURCE WORK: checks that a dependency in the wrong direction fails
# at configure time.
set -u
source=$1 work=$2
rm -rf "$work" && mkdir -p "$work"
cat > "$work/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.25)
project(wall LANGUAGES CXX)
set(CMAKE_SOURCE_DIR $source)
include($source/cmake/Layers.cmake)
file(WRITE \${CMAKE_BINARY_DIR}/empty.cc "")
dpnmf_library(data_side LAYER curator SOURCES \${CMAKE_BINARY_DIR}/empty.cc)
dpnmf_library(other_side LAYER \${OTHER} SOURCES \${CMAKE_BINARY_DIR}/empty.cc DEPS data_side)
EOF
if ! cmake -G Ninja -S "$work" -B "$work/twin" -DOTHER=curator > "$work/twin.log" 2>&1; then
  echo "the twin does not configure"; cat "$work/twin.log"; exit 1
fi
for layer in analyst client base tables wire server numeric lab recommend; do
  if cmake -G Ninja -S "$work" -B "$work/$layer" -DOTHER=$layer > "$work/$layer.log" 2>&1; then
    echo "$layer may depend on the curator"; exit 1
  fi
  grep -q "layering: other_side ($layer) must not depend on data_side" "$work/$layer.log" || {
    echo "it fails for another reason:"; cat "$work/$layer.log"; exit 1; }
done
