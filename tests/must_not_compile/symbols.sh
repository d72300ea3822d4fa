#!/usr/bin/env bash
# symbols.sh ANALYST CLIENT CURATOR LAB TWIN PAGE WORKER...: the analyst and the client hold no
# symbol of the curator's. The curator holds no generator with a seed, nothing of
# dpnmf-lab and no web page; dpnmf-lab holds no ledger, session or release gate.
# RecommendService is in the curator alone: no symbol and no string of its package
# is in another program. PAGE, the operator's, holds no data set, ledger, gate, session
# or service. Each WORKER sums over people for the curator: it holds no generator with a
# seed, no ledger, gate, session or service. None holds a failpoint; TWIN is a library with
# them.
set -u
analyst=$1 client=$2 curator=$3 lab=$4 twin=$5 page=$6
shift 6
bad=0
symbols() { nm -C "$1" 2>/dev/null; }
# absent PROGRAM PATTERN TWIN: PROGRAM has no such symbol, and TWIN has one: a
# pattern that finds nothing anywhere is blind.
absent() {
  if ! symbols "$3" | grep -qE "$2"; then
    echo "the check is blind: $3 shows no symbol like $2"; bad=1
  fi
  if symbols "$1" | grep -E "$2" | head -5 | grep .; then
    echo "^ symbols like $2 in $1"; bad=1
  fi
}
absent "$analyst" 'dpnmf::curator::' "$curator"
absent "$client" 'dpnmf::curator::' "$curator"
absent "$curator" 'dpnmf::curator::lab::' "$lab"
absent "$curator" 'dpnmf::analyst::' "$analyst"
absent "$client" 'dpnmf::analyst::' "$analyst"
absent "$curator" 'mersenne_twister|linear_congruential|subtract_with_carry|SplitMix|RandomDictionary' "$lab"
absent "$lab" 'dpnmf::curator::(Ledger|ReleaseGate|Session|CuratorServiceImpl)::' "$curator"
absent "$page" 'dpnmf::curator::(Dataset|Catalog|Ledger|ReleaseGate|Session|CuratorServiceImpl)::' "$curator"
absent "$page" 'grpc::|google::protobuf' "$curator"
absent "$curator" 'httplib::|dpnmf::(LoopbackAccess|HttpServer)' "$page"
for worker in "$@"; do
  absent "$worker" 'mersenne_twister|linear_congruential|subtract_with_carry|SplitMix|RandomDictionary' "$lab"
  absent "$worker" 'dpnmf::curator::(Ledger|ReleaseGate|Session|CuratorServiceImpl)::' "$curator"
done
for program in "$analyst" "$client" "$curator" "$lab" "$page" "$@"; do
  absent "$program" 'dpnmf::failpoint::' "$twin"
done
for program in "$analyst" "$client" "$lab" "$page"; do
  absent "$program" 'dpnmf::recommend::|RecommendService' "$curator"
  grep -q 'dpnmf.recommend' "$curator" || { echo "the check is blind: $curator does not name dpnmf.recommend"; bad=1; }
  if grep -q -e 'dpnmf.recommend' -e GetRecommendations "$program"; then
    echo "$program names RecommendService"; bad=1
  fi
done
# The page of a report.
grep -q uPlot "$lab" || { echo "the check is blind: $lab holds no page"; bad=1; }
grep -q '<html' "$page" || { echo "the check is blind: $page holds no page"; bad=1; }
if grep -q -e uPlot -e '<html' "$curator"; then
  echo "$curator holds a web page"; bad=1
fi
exit $bad
