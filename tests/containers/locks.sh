#!/usr/bin/env bash
# tests/containers/locks.sh SOURCE: checks that every requested package is pinned.
set -euo pipefail
cd "$1"
missing=$(
  comm -23 <(deploy/install.sh list | LC_ALL=C sort) <(sed -n 's/=.*//p' deploy/build.lock | LC_ALL=C sort)
  comm -23 <(sh deploy/runtime_packages.sh | LC_ALL=C sort) <(sed -n 's/=.*//p' deploy/runtime.lock | LC_ALL=C sort)
)
# Packages of the base image are not pinned again.
for package in $missing; do
  case $package in zlib1g | libssl3 | ca-certificates | openssl) ;; *) echo "not pinned: $package; run deploy/pin.sh" && exit 1 ;; esac
done
