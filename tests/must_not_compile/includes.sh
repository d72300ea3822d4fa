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
  curator/data curator/factor curator/release curator/mechanism curator/evaluate curator/session.h curator/session.cc
# evaluate's seeded noise and the release gate know nothing of one another.
forbid '^#include "curator/(release|mechanism|commands|[a-z_]+\.h)' curator/evaluate
forbid '^#include "curator/evaluate/' curator/access.* curator/catalog.* curator/pacing.* curator/service.* \
  curator/session.* curator/wire.* curator/main.cc curator/data curator/factor curator/release curator/mechanism \
  curator/commands/serve_command.cc curator/commands/import_command.cc curator/commands/ledger_command.cc
# A header has one text, with failpoints and without (cmake/Failpoints.cmake).
if grep -rn --include='*.h' '^#include "common/base/failpoint.h"' common curator analyst; then
  bad=1
fi
# Nothing on the way of a release draws from a generator with a seed.
forbid 'mt19937|minstd_rand|ranlux|default_random_engine|SeededNoise|[^_a-z](s?rand|[dlm]rand48)\(' \
  curator/release curator/mechanism curator/session.* curator/service.* curator/wire.*
# The walls hold only if the patterns can see: plant a line and look for it.
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
echo '#include "curator/data/dataset.h"' > "$planted/planted.h"
if ! grep -rqE --include='*.h' '^#include "curator/' "$planted"; then
  echo "the check itself is blind"
  bad=1
fi
exit $bad
