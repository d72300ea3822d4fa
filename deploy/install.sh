#!/usr/bin/env bash
# deploy/install.sh build|test|ci|python|python-test|web|ranks|proofs|packages|release|docs|postgres|list:
# installs missing Debian 12 packages. build: compiler and libraries. test: the same and
# what the tests need. ci: the same and sanitizers, linters and clang. python: what the
# Python package needs to be built and used. python-test: build, python and what
# the tests of that package need. web: the browser of tests/web. ranks: Open MPI, for
# dpnmf-ranks. proofs: Coq and its libraries, for proofs/check.sh. packages: build and
# what deploy/packages.sh needs. release: what deploy/release.sh and its checks need.
# docs: mkdocs, for deploy/docs.sh. postgres: the server of tests/postgres. list: prints
# those of build, one a line.
set -euo pipefail

build=(g++ cmake ninja-build pkg-config protobuf-compiler protobuf-compiler-grpc
  libprotobuf-dev libgrpc++-dev libabsl-dev libssl-dev libeigen3-dev libsqlite3-dev
  libsqlitecpp-dev libspdlog-dev libcli11-dev libtomlplusplus-dev nlohmann-json3-dev libpng-dev zlib1g-dev
  libsvm-dev prometheus-cpp-dev libcpp-httplib-dev
  openssl ca-certificates)
test=(libgtest-dev libgmock-dev sqlite3 python3-numpy libgmp-dev)
ci=(valgrind clang clang-tidy clang-format libclang-rt-14-dev lld ccache)
python=(python3-grpcio python3-protobuf python3-numpy python3-matplotlib python3-hatchling python3-venv
  python3-pip protobuf-compiler protobuf-compiler-grpc)
python_test=(python3-pytest mypy python3-sklearn python3-pandas python3-pil python3-anndata python3-openpyxl
  python3-nbclient python3-nbconvert python3-ipykernel)
web=(chromium chromium-driver python3-selenium)
ranks=(openmpi-bin libopenmpi-dev)
proofs=(coq libcoq-coquelicot libcoq-interval)
packages=(dpkg-dev file python3)
release=("${packages[@]}" lintian minisign diffoscope-minimal python3-jsonschema)
docs=(mkdocs mkdocs-material)
postgres=(postgresql)

case "${1:-}" in
  list) printf '%s\n' "${build[@]}"; exit 0 ;;
  build) wanted=("${build[@]}") ;;
  test) wanted=("${build[@]}" "${test[@]}") ;;
  ci) wanted=("${build[@]}" "${test[@]}" "${ci[@]}") ;;
  python) wanted=("${python[@]}") ;;
  python-test) wanted=("${build[@]}" "${python[@]}" "${python_test[@]}") ;;
  web) wanted=("${web[@]}") ;;
  ranks) wanted=("${ranks[@]}") ;;
  proofs) wanted=("${proofs[@]}") ;;
  release) wanted=("${build[@]}" "${python[@]}" "${release[@]}") ;;
  packages) wanted=("${build[@]}" "${packages[@]}") ;;
  docs) wanted=("${docs[@]}") ;;
  postgres) wanted=("${postgres[@]}") ;;
  *) sed -n '2,11p' "$0" >&2; exit 2 ;;
esac

missing=()
for package in "${wanted[@]}"; do
  state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0
if [ "$(id -u)" != 0 ]; then
  echo "missing packages: ${missing[*]}" >&2
  echo "install them, or run this as root: apt-get install ${missing[*]}" >&2
  exit 1
fi
# No cluster of the system's own, and so no server that starts.
clusters=/etc/postgresql-common/createcluster.conf
if [ "$1" = postgres ] && [ ! -e $clusters ]; then
  mkdir -p "${clusters%/*}"
  echo 'create_main_cluster = false' >$clusters
fi
echo "installing: ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# A mirror that fails for a moment, and another program that holds dpkg's lock, are waited for.
apt=(apt-get -qq -o Acquire::Retries=5 -o DPkg::Lock::Timeout=600)
installed() { "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "${missing[@]}"; }
for pause in 5 20 60 0; do
  if installed >"$log" 2>&1; then exit 0; fi
  [ $pause = 0 ] || sleep $pause
done
tail -20 "$log" >&2
exit 1
