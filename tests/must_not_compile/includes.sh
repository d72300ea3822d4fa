#!/usr/bin/env bash
# includes.sh SOURCE: checks that no include leaves its root and that no layer
# includes a layer that it may not use. The include roots enforce the same; this
# test names the line.
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
forbid '^#include [<"](grpc|google/protobuf|dpnmf/v1)' common/access common/base common/cli common/privacy common/nmf \
  curator/data curator/import curator/factor curator/mechanism curator/noise curator/ledger curator/gate \
  curator/lab/evaluate curator/lab/factorize curator/serve/session.h curator/serve/session.cc
# dpnmf-lab, with its seeded noise, and the release path know nothing of one another.
forbid '^#include "curator/(noise|ledger|gate|mechanism|serve|maintenance|commands)/' curator/lab
outside_lab=$(ls -d curator/*/ | grep -v '^curator/lab/$')
forbid '^#include "curator/lab/' $outside_lab
# Rooms of the curator, from the bottom up: none includes one above it.
forbid '^#include "curator/(import|factor|mechanism|noise|ledger|gate|serve|maintenance|commands)/' curator/data
forbid '^#include "curator/(factor|mechanism|noise|ledger|gate|serve|maintenance|commands)/' curator/import
forbid '^#include "curator/(import|mechanism|noise|ledger|gate|serve|maintenance|commands)/' curator/factor
forbid '^#include "curator/[a-mo-z]' curator/noise
forbid '^#include "curator/(import|factor|mechanism|noise|gate|serve|maintenance|commands)/' curator/ledger
forbid '^#include "curator/(import|mechanism|federation|serve|maintenance|commands)/' curator/gate
# What curators sign and how they mask knows neither sums nor the gate.
forbid '^#include "curator/(import|factor|gate|mechanism|serve|maintenance|commands)/' curator/federation
forbid '^#include [<"](grpc|google/protobuf)' common/federation curator/federation
forbid '^#include "curator/(import|serve|maintenance|commands)/' curator/mechanism
forbid '^#include "curator/ranks/' curator/data curator/import curator/factor curator/noise curator/ledger \
  curator/gate curator/mechanism curator/lab
forbid '^#include "curator/(noise|ledger|serve|maintenance|commands)/' curator/ranks
# MPI is in the program of a rank alone; the curator loads nothing of it.
forbid '^#include [<"](mpi|curator/ranks/patient_mpi)[.]h' common analyst \
  $(ls -d curator/*/ | grep -v '^curator/ranks/$') $(ls curator/ranks/* | grep -v "/ranks_main.cc$\|/patient_mpi.h$")
# The items of a stored data set are read with the importer's item_table alone.
forbid '^#include "curator/(import/([^i]|i[^t])|(maintenance|commands|recommend)/)' curator/serve
# Lists are a function of the model and one record: nothing of the ledger, the
# gate or the noise is near them.
forbid '^#include "curator/(import|factor|mechanism|noise|ledger|gate|maintenance|commands)/' curator/recommend
# The operator's page knows the curator by its control socket alone, and no other room
# of the curator knows a web page.
forbid '^#include "curator/([^sw]|serve/([^c]|c[^o]))' curator/web
forbid '^#include "(common|curator)/web/' $(ls -d curator/*/ | grep -v '^curator/web/$')
# People's lists have no place in the analyst's programs.
forbid 'dpnmf/recommend/' analyst common curator/lab
forbid '^#include "curator/commands/' curator/maintenance
# The client sees nothing else of the analyst.
forbid '^#include "analyst/([^c]|c[^l]|cl[^i]|client[^/])' analyst/client
# A header has one text, with failpoints and without (cmake/Failpoints.cmake).
if grep -rn --include='*.h' '^#include "common/base/failpoint.h"' common curator analyst; then
  bad=1
fi
# Nothing on the way of a release draws from a generator with a seed.
forbid 'mt19937|minstd_rand|ranlux|default_random_engine|SeededNoise|[^_a-z](s?rand|[dlm]rand48)\(' \
  curator/noise curator/ledger curator/gate curator/mechanism curator/serve curator/commands
# The walls hold only if the patterns can see: plant a line and look for it.
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
echo '#include "curator/data/dataset.h"' > "$planted/planted.h"
if ! grep -rqE --include='*.h' '^#include "curator/' "$planted"; then
  echo "the check itself is blind"
  bad=1
fi
exit $bad
