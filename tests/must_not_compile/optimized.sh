#!/usr/bin/env bash
# optimized.sh PROGRAM LIBRARIES OBJECTS: a test program runs the code that is shipped. Of each
# inline function and template that LIBRARIES (separated by semicolons) hold, PROGRAM has
# a library's copy, not the one of OBJECTS, its own, which are compiled at -O0. Copies are told
# apart by their sizes.
set -eu
program=$1
IFS=';' read -ra libraries <<<"$2"
IFS=';' read -ra objects <<<"$3"
weak() { nm -S --defined-only "$@" 2>/dev/null | awk '$3 == "W" && NF == 4 {print $4, $2}'; }
# others FILE...: functions of the libraries that FILE holds in another size.
others() {
  awk 'NR == FNR {size[$0]; name[$1]; next} ($1 in name) && !($0 in size)' <(weak "${libraries[@]}") <(weak "$@")
}
if [ "$(others "${objects[@]}" | wc -l)" -lt 10 ]; then
  echo "the check is blind: the objects hold no other copies"
  exit 1
fi
found=$(others "$program")
if [ -n "$found" ]; then
  printf '%s\n' "$found" | head -5 | c++filt
  echo "^ functions of the libraries that $program does not have from them"
  exit 1
fi
