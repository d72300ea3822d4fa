#!/usr/bin/env bash
# link_test.sh PROGRAM OBJECT... -- LIBRARY... -- COMMAND...: links a test program. The
# project's libraries come before the test's objects, each once and whole. Of an inline
# function or a template that both hold, the linker takes the first copy: the library's,
# which is optimised as in what is shipped, not that of the test at -O0.
set -eu
program=$1
shift
objects=()
while [ "$1" != -- ]; do objects+=("$1"); shift; done
shift
declare -A seen=()
whole=()
others=()
while [ "$1" != -- ]; do
  case $1 in
    common/*.a | curator/*.a | lab/*.a | client/*.a | analyst/*.a | proto/*.a | tests/libdpnmf_*_failpoints.a)
      [ -n "${seen[$1]:-}" ] || whole+=("$1")
      seen[$1]=yes
      ;;
    *) others+=("$1") ;;
  esac
  shift
done
shift
exec "$@" -Wl,--whole-archive "${whole[@]}" -Wl,--no-whole-archive "${objects[@]}" -o "$program" "${others[@]}"
