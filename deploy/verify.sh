#!/usr/bin/env bash
# deploy/verify.sh DIR PUBLIC_KEY: checks a release that was received in DIR: the
# signature of SHA256SUMS by the key (a file of minisign, or its text), each file, and
# that there is no other. Needs minisign.
set -euo pipefail
[ $# = 2 ] && [ "${1#-}" = "$1" ] || {
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit 2
}
fail() {
  echo "deploy/verify.sh: $*" >&2
  exit 1
}
command -v minisign >/dev/null || fail "there is no minisign: apt-get install minisign"
key=(-P "$2")
[ ! -f "$2" ] || key=(-p "$(realpath "$2")")
cd "$1"
[ -f SHA256SUMS ] && [ -f SHA256SUMS.minisig ] || fail "$1 has no SHA256SUMS with a signature: it is no release, or not all of it"
minisign -V -q "${key[@]}" -m SHA256SUMS >/dev/null || fail "SHA256SUMS is not signed by this key: do not install anything of it"
sha256sum --check --strict --quiet SHA256SUMS || fail "a file differs from what was signed: do not install anything of it"
more=$(find . ! -type d ! -path ./SHA256SUMS ! -path ./SHA256SUMS.minisig -printf '%P\n' | LC_ALL=C sort |
  LC_ALL=C comm -23 - <(cut -c67- SHA256SUMS | LC_ALL=C sort))
[ -z "$more" ] || fail "this was not signed: $more"
echo "$(minisign -V -Q "${key[@]}" -m SHA256SUMS): $(wc -l <SHA256SUMS) files are as they were signed"
