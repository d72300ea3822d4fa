#!/usr/bin/env bash
# deploy/compose.sh ARGUMENT...: runs Compose for the containers of docker-compose.yml:
# `docker compose` (version 2) if Docker has it, else docker-compose (version 1).
set -euo pipefail
case "${1:-}" in -h | --help)
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit 0
  ;;
esac
cd "$(dirname "$0")/.."
fail() { echo "deploy/compose.sh: $1" >&2; exit 2; }
command -v docker >/dev/null || fail "docker is missing; install Docker (apt-get install docker.io)."
if docker compose version >/dev/null 2>&1; then exec docker compose "$@"; fi
if command -v docker-compose >/dev/null; then exec docker-compose "$@"; fi
fail "there is neither 'docker compose' nor docker-compose; install one (docker-compose-plugin of docker.com, or apt-get install docker-compose)."
