#!/usr/bin/env bash
# tests/containers/locks.sh SOURCE PROGRAM...: checks that every requested package is
# pinned, and that every shared library of the programs comes from a pinned package.
set -euo pipefail
cd "$1"
shift
base=' libc6 libgcc-s1 libstdc++6 zlib1g libssl3 ca-certificates openssl ' # in the base image
bad=0
pinned() { # LOCK PACKAGE
  [[ $base == *" $2 "* ]] || grep -q "^$2=" "$1" || { echo "not pinned in $1: $2${3:+, of which a program needs $3}; run deploy/pin.sh"; bad=1; }
}
while read -r package; do pinned deploy/build.lock "$package"; done < <(deploy/install.sh list)
while read -r package; do pinned deploy/runtime.lock "$package"; done < <(sh deploy/runtime_packages.sh)
if [ $# -gt 0 ]; then
  # dpkg may know a library by its path before /lib became a link to /usr/lib.
  mapfile -t libraries < <(ldd "$@" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | sort -u | xargs realpath | sed 'p;s,^/usr,,')
  [ ${#libraries[@]} -gt 0 ] || { echo "the check is blind: the programs need no library"; bad=1; }
  while IFS=: read -r package _ library; do pinned deploy/runtime.lock "$package" "${library# }"; done < \
    <(dpkg-query -S "${libraries[@]}" 2>/dev/null)
fi
exit $bad
