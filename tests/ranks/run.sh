#!/usr/bin/env bash
# tests/ranks/run.sh [SEED]: ranks of real MPI beneath a real curator: the bits of
# one process, kills and stops at random moments, idle ranks, refusals. Installs
# missing packages and builds the programs first. Last line: N passed, N failed.
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
seed=${1:-$RANDOM}
"$top/deploy/install.sh" ranks >/dev/null 2>&1
if ! command -v mpirun >/dev/null; then
  echo "NOT RUN: the ranks' tests need openmpi-bin and libopenmpi-dev ('deploy/install.sh ranks')"
  exit 0
fi
if [ ! -x "$build/bin/dpnmf-ranks" ] || [ ! -x "$build/bin/dpnmf-sums" ] || [ ! -x "$build/tests/ranks_trials" ]; then
  DPNMF_TARGET="dpnmf dpnmf-analyst dpnmf-curator dpnmf-ranks dpnmf-sums ranks_trials" "$top/deploy/build.sh" "$build" \
    -DDPNMF_BUILD_TESTS=ON -DDPNMF_RANKS=ON || { echo "0 passed, 1 failed"; exit 1; }
fi
mpi_run="mpirun --oversubscribe --bind-to none --host localhost:8"
[ "$(id -u)" != 0 ] || mpi_run+=" --allow-run-as-root"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
exec 3>&1
check() { # NAME COMMAND...
  local name=$1
  shift
  if "$@" >"$work/log" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $name (seed $seed)"
    tail -n 30 "$work/log"
  fi
}
trial() { # KIND ARGUMENT...
  local place=$work/$1
  mkdir -p "$place"
  "$build/tests/ranks_trials" "$1" "$mpi_run" "$build/bin/dpnmf-ranks" "$place" "${@:2}"
}
no_mpi_in() { # PROGRAM...
  local program
  for program in "$@"; do
    if ldd "$build/bin/$program" | grep -i 'libmpi\|open-rte\|libpmix'; then return 1; fi
  done
}
check "the curator does not link MPI" no_mpi_in dpnmf-curator
check "1, 2, 3 and 4 ranks give the bits of one process" trial bits
check "kills and stops at random moments" trial faults "$seed" 12
check "idle ranks use no processor" trial idle
# Two machines: a host of another name, in a namespace of its own, that mpirun reaches
# by this instead of ssh.
machines() {
  if ! unshare -u true 2>/dev/null; then
    echo "NOT RUN: two machines need a UTS namespace" >&3
    return 0
  fi
  mkdir -p "$work/machines"
  printf '%s slots=2\nnode2 slots=2\n' "$(hostname)" >"$work/machines/hosts"
  cat >"$work/machines/agent" <<'AGENT'
#!/bin/sh
host=$1
shift
exec unshare -u sh -c "hostname $host; $*"
AGENT
  chmod +x "$work/machines/agent"
  local run="mpirun --oversubscribe --bind-to none --mca plm_rsh_agent $work/machines/agent"
  [ "$(id -u)" != 0 ] || run+=" --allow-run-as-root"
  "$build/tests/ranks_trials" machines "$run" "$build/bin/dpnmf-ranks" "$work/machines"
}
check "two machines" machines
check "servers with ranks" "$top/tests/ranks/servers_trial.sh" "$top" "$build/bin" "$seed"
check "sums without MPI, and a run of them" "$top/tests/ranks/sums_trial.sh" "$top" "$build/bin"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
