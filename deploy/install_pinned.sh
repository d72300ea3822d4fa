#!/bin/sh
# deploy/install_pinned.sh LOCK [PACKAGE...]: inside an image, installs exactly the
# packages of a lock file (deploy/*.lock, made by deploy/pin.sh: one package=version a
# line), and other packages in the version of the mirror.
#
#   DPNMF_UNPINNED=1   installs the same packages in the versions of the mirror
set -eu
export DEBIAN_FRONTEND=noninteractive
lock=$1
shift
packages=$(grep -v '^#' "$lock")
if [ "${DPNMF_UNPINNED:-}" = 1 ]; then
  echo "NOT PINNED: the mirror's versions are installed, not those of $lock" >&2
  packages=$(echo "$packages" | sed 's/=.*//')
fi
apt-get update -qq
# shellcheck disable=SC2086
if ! apt-get install -y -qq --no-install-recommends --allow-downgrades $packages "$@" >/tmp/install.log 2>&1; then
  grep -E '^E:|not found' /tmp/install.log | head -5 >&2 || tail -5 /tmp/install.log >&2
  echo "the mirror does not have the versions of $lock: pin again with deploy/pin.sh, or build with DPNMF_UNPINNED=1" >&2
  exit 1
fi
rm -rf /var/lib/apt/lists/* /tmp/install.log
