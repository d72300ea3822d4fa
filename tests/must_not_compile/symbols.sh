#!/usr/bin/env bash
# symbols.sh ANALYST CLIENT CURATOR TWIN: no symbol of the curator's in the other
# two programs, and none of the failpoints' in any; TWIN is a library with them.
set -u
seen() { nm -C "$1" 2>/dev/null | grep -c 'dpnmf::curator::'; }
if [ "$(seen "$3")" -eq 0 ]; then
  echo "the check is blind: the curator shows no symbol of its own"; exit 1
fi
for program in "$1" "$2"; do
  if [ "$(seen "$program")" -ne 0 ]; then
    echo "$program holds symbols of the curator:"
    nm -C "$program" | grep 'dpnmf::curator::' | head
    exit 1
  fi
done
failpoints() { nm -C "$1" 2>/dev/null | grep -c 'dpnmf::failpoint::'; }
if [ "$(failpoints "$4")" -eq 0 ]; then
  echo "the check is blind: the twin shows no failpoint"; exit 1
fi
for program in "$1" "$2" "$3"; do
  if [ "$(failpoints "$program")" -ne 0 ]; then
    echo "$program holds failpoints:"
    nm -C "$program" | grep 'dpnmf::failpoint::' | head
    exit 1
  fi
done
