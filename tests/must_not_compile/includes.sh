#!/usr/bin/env bash
# includes.sh SOURCE: no include climbs out of its root, and no layer includes one
# that it may not use (the include roots enforce it; this names the line).
set -u
cd "$1" || exit 2
bad=0
# forbid PATTERN FOLDER... : no line of the folders may match.
forbid() {
  local pattern=$1
  shift
  if grep -rnE --include='*.h' --include='*.cc' "$pattern" "$@"; then
    bad=1
  fi
}
forbid '^#include "\.\./' common curator analyst tests bench
forbid '^#include "(curator|analyst)/' common
forbid '^#include "analyst/' curator
forbid '^#include "curator/' analyst
forbid '^#include [<"](grpc|google/protobuf|dpnmf/v1)' common/base common/privacy common/nmf \
  curator/data curator/factor curator/release curator/mechanism curator/session.h curator/session.cc
# The walls hold only if the patterns can see: plant a line and look for it.
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
echo '#include "curator/data/dataset.h"' > "$planted/planted.h"
if ! grep -rqE --include='*.h' '^#include "curator/' "$planted"; then
  echo "the check itself is blind"
  bad=1
fi
exit $bad
