#!/usr/bin/env bash
# tests/python/run.sh [PYTEST_ARGUMENT...]: builds the package's wheel and installs
# it in a venv, both without a network, and tests it against the real servers.
# Installs missing packages and builds the programs first. Last line: N passed, N
# failed.
#
#   DPNMF_BUILD_DIR   directory of the build [build]
set -uo pipefail
case "${1:-}" in -h | --help)
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit 0
  ;;
esac
top=$(cd "$(dirname "$0")/../.." && pwd)
build=${DPNMF_BUILD_DIR:-$top/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "$1"
  echo "0 passed, 1 failed"
  exit 1
}
"$top/deploy/install.sh" python-test || fail "packages are missing"
DPNMF_TARGET="dpnmf dpnmf-analyst dpnmf-curator" "$top/deploy/build.sh" "$build" || fail "the programs do not build"

export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1
offline=(--no-index --no-build-isolation --quiet)
/usr/bin/python3 -m venv --system-site-packages "$work/venv" || fail "no venv"
"$work/venv/bin/pip" wheel "${offline[@]}" --no-deps -w "$work" "$top/python" || fail "the wheel does not build"
"$work/venv/bin/pip" install "${offline[@]}" "$work"/dpnmf-*.whl || fail "the wheel does not install"

DPNMF_BIN=$build/bin DPNMF_WHEEL=$(echo "$work"/dpnmf-*.whl) \
  "$work/venv/bin/python" -m pytest -q -p no:cacheprovider --junitxml "$work/results.xml" "$@" "$top/tests/python"
[ -s "$work/results.xml" ] || fail "pytest did not run"
# A test that was skipped has not passed.
"$work/venv/bin/python" - "$work/results.xml" <<'PYTHON'
import sys
import xml.etree.ElementTree

suite = next(xml.etree.ElementTree.parse(sys.argv[1]).iter("testsuite"))
tests, failed = (int(suite.get("tests")), sum(int(suite.get(k)) for k in ("failures", "errors", "skipped")))
print(f"{tests - failed} passed, {failed} failed")
sys.exit(failed > 0 or tests == 0)
PYTHON
