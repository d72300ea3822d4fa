#!/usr/bin/env bash
# tests/packages/run.sh [BUILD_DIR] [--with ENGINE]: makes the Debian packages from
# the build in BUILD_DIR [build] and looks at them; then installs them in a bare
# container, starts both servers as their units do, trains through the client,
# removes the packages and installs them again. ENGINE is a program that gets a build
# command and a run command and runs both with a Docker engine; the default is the
# machine's engine, and without one the second half is NOT RUN. Last line: N passed,
# N failed.
set -uo pipefail
case "${1:-}" in -h | --help)
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit 0
  ;;
esac
top=$(cd "$(dirname "$0")/../.." && pwd)
here=$top/tests/packages
build=$top/build engine=
while [ $# -gt 0 ]; do
  case $1 in
    --with) engine=$2; shift 2 ;;
    *) build=$(cd "$1" && pwd) || exit 2; shift ;;
  esac
done
passed=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# DESCRIPTION COMMAND...
expect() {
  local what=$1
  shift
  if "$@" >"$work/out" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $what"
    tail -n 15 "$work/out"
  fi
}
finish() {
  echo "$passed passed, $failed failed"
  [ $failed = 0 ] && [ $passed -gt 0 ]
  exit
}

expect "the packages are made" "$top/deploy/packages.sh" "$build"
[ $failed = 0 ] || finish
debs=$build/packages
version=$(sed -n 's/^project(dpnmf VERSION \([0-9.]*\) .*/\1/p' "$top/CMakeLists.txt")

# ---- What the packages hold

packages=(dpnmf-curator dpnmf-analyst dpnmf dpnmf-lab)
[ ! -x "$build/bin/dpnmf-ranks" ] || packages+=(dpnmf-ranks)
for package in "${packages[@]}"; do
  mkdir -p "$work/root" "$work/only/$package" "$work/control"
  dpkg-deb -x "$debs/${package}_${version}_"*.deb "$work/root"
  dpkg-deb -x "$debs/${package}_${version}_"*.deb "$work/only/$package"
  dpkg-deb -e "$debs/${package}_${version}_"*.deb "$work/control/$package"
done
root=$work/root
these_alone() { [ "$(ls "$debs"/*.deb | wc -l)" = ${#packages[@]} ]; }
expect "no other package" these_alone
no_file_twice() { [ -z "$(cd "$work/only" && find . -type f -o -type l | cut -d/ -f3- | sort | uniq -d)" ]; }
expect "no file belongs to two packages" no_file_twice
for program in "$root"/usr/bin/*; do
  name=$(basename "$program")
  [ "$name" != dpnmf-ranks ] || continue # the curator starts it
  states_version() { [ "$("$program" --version)" = "$name $version" ]; }
  expect "$name states the version" states_version
  [ -z "$(command -v groff)" ] || {
    page() {
      local said
      said=$(zcat "$root/usr/share/man/man1/$name.1.gz" | groff -man -Tascii -ww -z 2>&1)
      echo "$said"
      [ -z "$said" ] && zcat "$root/usr/share/man/man1/$name.1.gz" | groff -man -Tascii | grep 'Print help'
    }
    expect "$name has a manual page without a warning" page
  }
  completes() {
    bash --norc -euc "source '$root/usr/share/bash-completion/completions/$name'
      COMP_WORDS=($name --versi) COMP_CWORD=1
      _${name//-/_}
      [ \"\${COMPREPLY[*]}\" = --version ]"
  }
  expect "$name has a completion that works" completes
done
depends() { sed -n 's/^Depends: //p' "$work/control/$1/control"; }
needs() { # PACKAGE WHAT
  depends "$1" | grep "$2"
}
for package in "${packages[@]}"; do
  [ $package = dpnmf-ranks ] ||
    expect "$package names the libraries that it needs" needs $package 'libprotobuf32'
  expect "$package has a copyright that names uPlot's licence" \
    grep -q 'Leon Sorokin' "$root/usr/share/doc/$package/copyright"
  expect "$package has the documentation" test -s "$root/usr/share/doc/$package/reference/operations.md"
done
stripped() { nm "$root/usr/bin/dpnmf-curator" 2>&1 | grep 'no symbols'; }
expect "programs are stripped" stripped
no_curator() { ! (cd "$work/only" && find dpnmf dpnmf-analyst -path '*bin/*' | grep curator); }
expect "the analyst's packages hold no program of the curator's" no_curator
for side in curator analyst; do
  conffiles() { [ "$(cd "$root" && find etc/dpnmf/$side -type f | sort | sed 's,^,/,')" = "$(sort "$work/control/dpnmf-$side/conffiles")" ]; }
  expect "all of /etc/dpnmf/$side is configuration" conffiles
  if command -v systemd-analyze >/dev/null; then
    secure() {
      systemd-analyze --root="$root" --offline=true --threshold=20 security --no-pager "dpnmf-$side.service" &&
        systemd-analyze --root="$root" --offline=true security --no-pager "dpnmf-$side.service" | tail -n 1
    }
    expect "the unit of dpnmf-$side is hardened" secure
    tail -n 1 "$work/out"
    well_formed() { ! systemd-analyze --root="$root" verify "dpnmf-$side.service" 2>&1 | grep -E 'Unknown|Invalid|Failed to parse|ignoring'; }
    expect "the unit of dpnmf-$side is understood" well_formed
  else
    echo "NOT RUN: systemd-analyze is not here"
  fi
done
python_alone() {
  (cd / && PYTHONPATH=$root/usr/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -c "
import importlib.metadata, dpnmf, dpnmf.v1.analyst_pb2_grpc
assert dpnmf.__version__ == importlib.metadata.version('dpnmf') == '$version', dpnmf.__version__
assert dpnmf.__file__.startswith('$root')")
}
expect "the Python package is whole" python_alone

# shellcheck source=tests/packages/release.sh
. "$here/release.sh"

# ---- In a bare container

context=$work/context
mkdir -p "$context"
# Without Open MPI, which dpnmf-ranks would bring.
for package in "${packages[@]}"; do
  [ $package = dpnmf-ranks ] || cp "$debs/${package}_${version}_"*.deb "$context"
done
cp "$here/scenario.sh" "$top/examples/digits/digits.csv.gz" "$context"
chmod 755 "$context"
cat >"$context/Dockerfile" <<'TEXT'
FROM debian:bookworm-slim
COPY . /test
RUN apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends /test/*.deb >/tmp/install.log 2>&1 || { tail -n 30 /tmp/install.log; exit 1; }
TEXT
image="DOCKER_BUILDKIT=0 docker build --network=host -q -t dpnmf-packages-test '$context'"
# --init: the servers' orphans are reaped as by a system's first process.
scenario="docker run --rm --init --network=none dpnmf-packages-test bash /test/scenario.sh"
run_scenario() {
  if [ -n "$engine" ]; then
    "$engine" "$image" "$scenario"
  else
    bash -c "$image" && bash -c "$scenario"
  fi
}
if [ -z "$engine" ] && ! docker version >/dev/null 2>&1; then
  echo "NOT RUN: no Docker engine, so nothing was installed"
else
  expect "installed, served, trained, removed and installed again" run_scenario
  grep '^ok: \|^note: ' "$work/out" || true
fi
finish
