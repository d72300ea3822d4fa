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
passed=0 failed=0 skipped=0
not_run=77
exec 3>&1
check() { # NAME COMMAND...
  local name=$1
  shift
  local got=0
  "$@" >"$work/log" 2>&1 || got=$?
  if [ $got = 0 ]; then
    passed=$((passed + 1))
  elif [ $got = $not_run ]; then
    skipped=$((skipped + 1))
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
check "1, 2, 3, 4 and 7 ranks give the bits of one process" trial bits
check "kills and stops at random moments" trial faults "$seed" 12
check "idle ranks use no processor" trial idle
# Two machines: a host of another name, in a namespace of its own, that mpirun reaches
# by this instead of ssh.
machines() {
  if ! unshare -u true 2>/dev/null; then
    echo "NOT RUN: two machines need a UTS namespace" >&3
    return $not_run
  fi
  agent machines "" -u
  "$build/tests/ranks_trials" machines "$run" "$build/bin/dpnmf-ranks" "$work/machines"
}
# PLACE PREPARATION NAMESPACE...: sets run, which starts MPI programs here and at node2.
agent() {
  local place=$work/$1 preparation=$2
  shift 2
  mkdir -p "$place"
  printf '%s slots=2\nnode2 slots=2\n' "$(hostname)" >"$place/hosts"
  cat >"$place/agent" <<AGENT
#!/bin/sh
host=\$1
shift
exec unshare $* sh -c "hostname \$host; $preparation \$*"
AGENT
  chmod +x "$place/agent"
  run="mpirun --oversubscribe --bind-to none --mca plm_rsh_agent $place/agent"
  [ "$(id -u)" != 0 ] || run+=" --allow-run-as-root"
}
check "two machines" machines
# The same, and the other machine has a disk of its own in the place of the data
# directory.
parts() {
  if ! unshare -u -m sh -c 'mount -t tmpfs none /mnt' 2>/dev/null; then
    echo "NOT RUN: two machines with disks of their own need a mount namespace" >&3
    return $not_run
  fi
  agent parts "mount --bind $work/parts/other $work/parts/data;" -u -m
  mkdir -p "$work/parts/data" "$work/parts/other"
  "$build/tests/ranks_trials" parts "$run" "$build/bin/dpnmf-ranks" "$work/parts"
}
check "parts of the people on two machines" parts
keepalive="--mca oob_tcp_keepalive_time 2 --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 3"
# The same, and the other machine has a network of its own, with one link between
# the two that is cut at random moments.
links() {
  local place=$work/links
  if ! command -v ip >/dev/null || ! unshare -n -u ip link add name here type veth peer name there 2>/dev/null; then
    echo "NOT RUN: a link that is cut needs iproute2 and a network namespace" >&3
    return $not_run
  fi
  agent links "" -u
  # What is behind the link is in a session of its own, as on a real machine, and
  # must see by itself that the job is gone.
  sed -i "s|^exec |exec nsenter -n -t \$(cat $place/other) setsid -w |" "$place/agent"
  cat >"$place/link" <<'LINK'
#!/bin/sh
exec nsenter -n -t "$(cat "${0%/*}/other")" ip link set there "$1"
LINK
  cat >"$place/inside" <<'INSIDE'
#!/bin/sh
# PLACE COMMAND...: runs it on a machine whose one link leads to another machine.
place=$1
shift
set -e
hostname node1
ip link set lo up
unshare -n sleep infinity &
other=$!
trap 'kill $other' EXIT
until [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
echo $other >"$place/other"
ip link add name here type veth peer name there netns $other
ip addr add 10.77.0.1/24 dev here
ip link set here up
nsenter -n -t $other sh -c 'ip link set lo up; ip addr add 10.77.0.2/24 dev there; ip link set there up'
"$@"
INSIDE
  chmod +x "$place/link" "$place/inside"
  printf 'node1 slots=2\nnode2 slots=2\n' >"$place/hosts"
  unshare -n -u "$place/inside" "$place" "$build/tests/ranks_trials" links \
    "$run $keepalive" "$build/bin/dpnmf-ranks" "$place" "$seed" 4
}
check "a link that is cut at random moments" links
check "servers with ranks" "$top/tests/ranks/servers_trial.sh" "$top" "$build/bin" "$seed"
check "sums without MPI, and a run of them" "$top/tests/ranks/sums_trial.sh" "$top" "$build/bin"
[ $skipped = 0 ] || echo "$skipped not run"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
