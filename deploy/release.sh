#!/usr/bin/env bash
# deploy/release.sh check            says whether the committed tree can be released:
#                                    clean, tagged vVERSION, CHANGELOG.md has its date
# deploy/release.sh make DIR KEY     checks, makes packages, wheel, source archive and
#                                    their SBOMs in the new folder DIR, and signs it
# deploy/release.sh sign DIR KEY     writes DIR/SHA256SUMS and its signature
#
# KEY is a secret key of minisign (minisign -G); it is never in the tree. Whoever gets a
# release checks it with deploy/verify.sh. Needs the packages of 'deploy/install.sh release'.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
usage() {
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit "$1"
}
fail() {
  echo "deploy/release.sh: $*" >&2
  exit 1
}
version=$(sed -n 's/^project(dpnmf VERSION \([0-9.]*\) .*/\1/p' "$top/CMakeLists.txt")

check() {
  local heading
  [ -z "$(git -C "$top" status --porcelain)" ] || fail "the tree has changes that are not committed: commit or remove them"
  heading=$(grep -m 1 '^## \[' "$top/CHANGELOG.md")
  [[ $heading =~ ^"## [$version] - "[0-9]{4}-[0-9]{2}-[0-9]{2}$ ]] ||
    fail "CHANGELOG.md begins with '$heading': write '## [$version] - YYYY-MM-DD'"
  git -C "$top" tag --points-at HEAD | grep -qxF "v$version" ||
    fail "the commit has no tag v$version: git tag -s v$version"
}

sign() { # DIR KEY
  local name=SHA256SUMS
  [ -f "$2" ] || fail "there is no key $2: minisign -G makes one"
  rm -f "$1/$name" "$1/$name.minisig"
  [ -n "$(ls -A "$1")" ] || fail "there is nothing in $1"
  (cd "$1" && find . -type f ! -path "./$name" -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum >"$name")
  minisign -S -s "$2" -m "$1/$name" -t "dpnmf $version" ||
    fail "minisign did not sign $1/$name"
}

make() { # DIR KEY
  local build
  check
  [ ! -e "$1" ] || fail "$1 exists: name a folder that does not"
  mkdir -p "$1"
  build=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$build'" EXIT
  CCACHE_DISABLE=1 "$top/deploy/packages.sh" "$build"
  cp "$build"/packages/* "$1"
  SOURCE_DATE_EPOCH=$(git -C "$top" log -1 --format=%ct) /usr/bin/python3 -m pip wheel --quiet --no-deps --no-index \
    --no-build-isolation --wheel-dir "$1" "$top/python"
  git -C "$top" archive --prefix="dpnmf-$version/" --add-file=/usr/share/common-licenses/Apache-2.0 HEAD |
    gzip -9n >"$1/dpnmf-$version.tar.gz"
  sign "$1" "$2"
  echo "$1: $(wc -l <"$1/SHA256SUMS") files, signed"
}

case "${1:-}" in
  -h | --help) usage 0 ;;
  check) check ;;
  make | sign) [ $# = 3 ] || usage 2; "$@" ;;
  *) usage 2 ;;
esac
