#!/usr/bin/env bash
# tests/containers/compose.sh SOURCE: which Compose deploy/up.sh runs, with stand-ins in
# the place of Docker, Compose and chown. They record their arguments and do nothing:
# this test shows what would be run, not that version 2 runs it. run.sh has the real
# thing with the version that is installed.
set -uo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "FAILED: $*"
  cat "$work/out" "$work/calls" 2>/dev/null
  exit 1
}
# Everything of this machine but Docker.
mkdir "$work/machine"
for directory in /usr/bin /bin; do cp -sf "$directory"/* "$work/machine/" 2>/dev/null; done
rm -f "$work"/machine/docker*
stand_in() { # NAME BODY
  mkdir -p "$work/bin"
  rm -f "$work/bin/$1" "$work/machine/$1" # no link is written through
  printf '#!/bin/bash\necho "%s $*" >>"%s"\n%s\n' "$1" "$work/calls" "$2" >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}
up() {
  rm -rf "$work/secrets" "$work/calls"
  PATH=$work/bin:$work/machine DPNMF_SECRETS=$work/secrets "$source/deploy/up.sh" >"$work/out" 2>&1
}
refuses() { # SENTENCE: before anything is made
  up && fail "up.sh without Compose"
  [ "$(cat "$work/out")" = "deploy/compose.sh: $1" ] || fail "not the one sentence: $1"
  [ ! -e "$work/secrets" ] || fail "secrets were made first"
}
calls() { grep -v "^docker.compose version$\|^chown\|inspect" "$work/calls" | sed 's/ ps -q .*/ ps -q/' | sort | uniq; }
runs() { # COMPOSE
  up || fail "up.sh with $1"
  [ "$(calls)" = "$1 ps -q"$'\n'"$1 up -d" ] || fail "other calls than of $1"
  [ -s "$work/secrets/curator/tls.crt" ] || fail "no secrets with $1"
}
stand_in chown ""
refuses "docker is missing; install Docker (apt-get install docker.io)."
stand_in docker '[ "$1" = inspect ] && echo healthy; [ "$1" != compose ]'
refuses "there is neither 'docker compose' nor docker-compose; install one (docker-compose-plugin of docker.com, or apt-get install docker-compose)."
stand_in docker-compose '[ "$1" != ps ] || echo 7f3a'
runs docker-compose
stand_in docker '[ "$1" = inspect ] && echo healthy; [ "$1 $2" != "compose ps" ] || echo 7f3a'
runs "docker compose"
rm "$work/bin/docker-compose"
runs "docker compose"
# A container that is not there is waited for by nobody.
stand_in docker ""
up && fail "a container that did not start"
grep -q "^curator is absent; its log:$" "$work/out" || fail "what is absent"
