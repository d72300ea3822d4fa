#!/usr/bin/env bash
# includes.sh SOURCE: checks that no include leaves its root and that no layer
# includes a layer that it may not use. The include roots enforce the same; this
# test names the line.
set -u
cd "$1" || exit 2
bad=0
# forbid PATTERN PATH... : no line of the files may match. A path that is not there
# (a folder has got another name) and a pattern that is none are failures too.
forbid() {
  local pattern=$1 path status=0
  shift
  for path in "$@"; do
    [ -e "$path" ] || { echo "there is no $path"; bad=1; }
  done
  grep -rnE --include='*.h' --include='*.cc' "$pattern" "$@" || status=$?
  [ $status = 1 ] || bad=1
}
forbid '^#include "\.\./' common curator analyst client lab tests bench
# Nothing depends on the client or the lab; the parties do not know each other.
forbid '^#include "(curator|analyst|client|lab)/' common
forbid '^#include "(analyst|client|lab)/' curator
# How a run learns is the analyst's and the lab's.
forbid '^#include "common/learning/' curator client $(ls -d common/*/ | grep -v '^common/learning/$')
forbid '^#include "(curator|client|lab)/' analyst
forbid '^#include "(curator|analyst|lab)/' client
forbid '^#include "(analyst|client)/' lab
forbid '^#include [<"](grpc|google/protobuf|dpnmf/v1)' common/access common/base common/cli common/crypto common/threads common/files common/log common/tables common/privacy common/nmf common/moments \
  curator/data curator/import curator/draft curator/factor curator/mechanism curator/noise curator/ledger curator/gate \
  curator/publish curator/recommend/recommender.h curator/recommend/recommender.cc \
  lab/factorize curator/session/session.h curator/session/session.cc
forbid '^#include [<"](grpc|google/protobuf)' lab/evaluate
# dpnmf-lab, with its seeded noise, and the release path know nothing of one another.
forbid '^#include "curator/(noise|ledger|gate|ranks|federation|session|serve|control|recommend|maintenance|publish|commands)/' lab
# Rooms of the curator, from the bottom up: none includes one above it.
top='session|serve|control|recommend|maintenance|publish|commands|web'
forbid "^#include \"curator/(import|draft|factor|mechanism|ranks|noise|ledger|gate|federation|$top)/" curator/data
forbid "^#include \"curator/(draft|factor|mechanism|ranks|noise|ledger|gate|federation|$top)/" curator/import
forbid "^#include \"curator/(factor|mechanism|ranks|noise|ledger|gate|federation|$top)/" curator/draft
forbid "^#include \"curator/(import|draft|mechanism|ranks|noise|ledger|gate|federation|$top)/" curator/factor
forbid '^#include "curator/[a-mo-z]' curator/noise
forbid "^#include \"curator/(import|draft|factor|mechanism|ranks|noise|gate|federation|$top)/" curator/ledger
# Of mechanisms the gate knows the sums that it takes.
forbid "^#include \"curator/(import|draft|mechanism/([^r]|r[^o])|ranks|federation|$top)/" curator/gate
# What curators sign and how they mask knows neither sums nor the gate.
forbid "^#include \"curator/(import|draft|factor|gate|mechanism|ranks|$top)/" curator/federation
forbid '^#include [<"](grpc|google/protobuf)' common/federation curator/federation
forbid "^#include \"curator/(import|draft|gate|noise|ledger|ranks|federation|$top)/" curator/mechanism
forbid "^#include \"curator/(draft|noise|ledger|federation|$top)/" curator/ranks
# MPI is in the program of a rank alone; the curator loads nothing of it.
forbid '^#include [<"](mpi|curator/ranks/patient_mpi)[.]h' common analyst client lab \
  $(ls -d curator/*/ | grep -v '^curator/ranks/$') $(ls curator/ranks/* | grep -v "/ranks_main.cc$\|/patient_mpi.h$")
# The items of a stored data set are read with the importer's item_table, the
# weights of its features with its feature_weights, and nothing else of it.
forbid '^#include "curator/(import/([^r]|readers/([^if]|i[^t]|f[^e]))|(draft|maintenance|publish|commands|recommend|web)/)' curator/session curator/serve curator/control
# Files of matrices are for the importer, the client and the lab.
forbid '^#include "common/tables/' analyst $(ls -d common/*/ | grep -v '^common/tables/$') curator/data curator/draft curator/factor \
  curator/noise curator/ledger curator/gate curator/mechanism curator/federation curator/session curator/serve curator/control \
  curator/recommend curator/maintenance curator/publish curator/web
forbid '^#include "common/files/(input_file|refused_lines)[.]h' analyst curator/session curator/serve curator/control curator/recommend
# Lists are a function of the model and one record: nothing of the ledger, the
# gate or the noise is near them.
forbid '^#include "curator/(import|draft|factor|mechanism|ranks|noise|ledger|gate|federation|serve|control|maintenance|publish|commands)/' \
  curator/recommend
# Of the analysts' service they have who may call and what a peer is told; what these headers include is
# held by the include root of their layer.
forbid '^#include "curator/session/([^ar]|a[^c]|r[^e])' curator/recommend
if grep -n 'LAYER curator' curator/recommend/CMakeLists.txt; then bad=1; fi
# What publishes a table reads drafts, the ledger and stored releases: it computes and draws nothing.
forbid '^#include "curator/(factor|mechanism|ranks|noise|federation|session|serve|control|recommend|maintenance|commands|web)/' \
  curator/publish
# The operator's page knows the curator by its control socket alone, and no other room
# of the curator knows a web page.
forbid '^#include "curator/([^cw]|c[^o]|co[^n]|control/([^c]|c[^o]))' curator/web
forbid '^#include "(common|curator)/web/' $(ls -d curator/*/ | grep -v '^curator/web/$')
# People's lists have no place in the analyst's programs.
forbid 'dpnmf/recommend/' analyst client common lab
forbid '^#include "curator/(publish|recommend|commands)/' curator/maintenance
# A header has one text, with failpoints and without (cmake/Failpoints.cmake).
if grep -rn --include='*.h' '^#include "common/base/failpoint.h"' common curator analyst client lab; then
  bad=1
fi
only_in() { # PATTERN FILE...: no other file has it, and each of these does
  local pattern=$1 file
  shift
  forbid "$pattern" $(find common curator analyst client lab -name '*.h' -o -name '*.cc' | grep -vxF "$(printf '%s\n' "$@")")
  for file; do
    grep -qE "$pattern" "$file" || { echo "$file has nothing of '$pattern': it is no exception"; bad=1; }
  done
}
# What is removed or renamed is so by way of a failpoint, and is synced: durable_file
# alone calls the system. But for the exceptions, which tests cannot make fail:
# control.cc a socket, which the next server replaces; rank_job.cc directories in
# /dev/shm and /tmp, where remove_all follows no link that another user puts there.
removals='\<(unlink|unlinkat|rename|renameat|renameat2|rmdir|remove_all|mkstemp|mkostemp)\('
removals+='|\<(fs|filesystem)::(remove|rename|copy|copy_file)\(|\<std::(remove|rename)\('
removals+='|DPNMF_SYSTEM\((unlink|linkat|rename|renameat2|rmdir)\)'
may_remove='common/files/durable_file.cc common/base/failpoint.h curator/control/control.cc curator/ranks/rank_job.cc'
only_in "$removals" $may_remove
# What is written or synced is so by way of a failpoint, too, and by two files alone.
writes='(^|[^A-Za-z0-9_>])::(p?writev?)\(|\<(fsync|fdatasync|syncfs|sync_file_range|f?truncate|(posix_)?fallocate)\('
writes+='|\<std::(of|f|basic_of)stream\>|DPNMF_SYSTEM\((p?writev?|fsync|fdatasync|f?truncate|posix_fallocate)\)'
may_write='common/files/durable_file.cc common/log/audit_log.cc common/base/failpoint.h'
only_in "$writes" $may_write
# No generator with a seed is in the curator.
forbid 'mt19937|minstd_rand|ranlux|default_random_engine|SeededNoise|[^_a-z](s?rand|[dlm]rand48)\(' \
  curator/noise curator/ledger curator/gate curator/federation curator/mechanism curator/session curator/serve curator/control curator/publish \
  curator/commands curator/data curator/import curator/draft curator/factor curator/ranks curator/recommend \
  curator/maintenance
# The walls hold only if they can see: what is planted must be found by forbid itself.
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
echo '#include "curator/data/dataset.h"' > "$planted/planted.h"
finds() { (bad=0; forbid "$@" >/dev/null 2>&1; [ $bad = 1 ]); }
finds '^#include "curator/' "$planted" || { echo "the check is blind to a line"; bad=1; }
finds '^#include "analyst/' "$planted/none" || { echo "the check is blind to a missing folder"; bad=1; }
for call in '::unlink(p);' 'fs::remove(p);' 'std::filesystem::remove_all(p, e);' '::mkostemp(p, 0);' \
    '::rename(a, b);' 'std::rename(a, b);' 'DPNMF_SYSTEM(rename)(a, b);'; do
  echo "$call" > "$planted/call.cc"
  finds "$removals" "$planted" || { echo "the check is blind to $call"; bad=1; }
done
for call in '::write(fd, p, n);' '  return fsync(fd);' '::fdatasync(fd);' 'std::ofstream out(path);' \
    '::ftruncate(fd, 0);' 'DPNMF_SYSTEM(fsync)(fd);'; do
  echo "$call" > "$planted/call.cc"
  finds "$writes" "$planted" || { echo "the check is blind to $call"; bad=1; }
done
finds '^#include (' "$planted" || { echo "the check is blind to a broken pattern"; bad=1; }
if finds '^#include "analyst/' "$planted"; then
  echo "the check finds what is not there"
  bad=1
fi
exit $bad
