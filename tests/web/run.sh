#!/usr/bin/env bash
# tests/web/run.sh [BUILD_DIR] [--images DIR]: the pages of `dpnmf web` and
# dpnmf-curator-web in a real browser, against the real servers on loopback. With
# --images the screenshots of docs/reference/web.md are written to DIR. Last line: N passed, N
# failed.
set -uo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$top/build images=
while [ $# -gt 0 ]; do
  case $1 in
    --images) images=$(cd "$2" && pwd) || exit; shift 2 ;;  # the tests go elsewhere
    *) build=$(cd "$1" && pwd); shift ;;
  esac
done
if ! command -v chromium >/dev/null || ! command -v chromedriver >/dev/null ||
  ! /usr/bin/python3 -c 'import selenium' 2>/dev/null; then
  echo "NOT RUN: the page's tests need chromium, chromium-driver and python3-selenium ('deploy/install.sh web')"
  exit 0
fi
# The files of which the pages consist, wherever they are, as one hash; docs/images has
# that of the pages in its pictures.
digest_of_pages() {
  find "$top"/{common,client,analyst,curator} -path '*/web/assets/*' -type f -printf '%f %p\n' 2>/dev/null | LC_ALL=C sort |
    cut -d' ' -f2- | tr '\n' '\0' | xargs -0 cat | sha256sum | cut -d' ' -f1
}
if [ -z "$images" ] && [ "$(digest_of_pages)" != "$(cat "$top/docs/images/pages.sha256")" ]; then
  echo "FAILED: the pages have changed since their pictures: tests/web/run.sh --images docs/images"
  exit 1
fi
. "$top/tests/integration/servers.sh" "$top" "$build/bin"

imported() { dpnmf-curator import "$@" "${curator_dirs[@]}" >"$work/out" 2>&1 || fail "import $2"; }

# Images, and a table whose columns have names.
imported --name digits --population writers --input "$top/examples/digits/digits.csv.gz" --users rows \
  --epsilon 16 --delta 1e-5
printf '%s\n' thickness 'cell size' 'cell shape' adhesion 'epithelial size' 'bare nuclei' chromatin nucleoli mitoses \
  >"$work/findings.txt"
imported --name biopsies --population patients --input "$top/examples/wbc/wbc.csv" --users rows --columns 1-9 \
  --features "$work/findings.txt" --epsilon 4 --delta 1e-4
# A data set for every mechanism.
awk -v OFS=, 'BEGIN { for (n = 0; n < 400; ++n) print 1 + n % 7, 1 + int(n / 7) % 9, 1 + (n * n) % 6, 1 + n % 5, n % 3 ? "no" : "yes" }' \
  >"$work/visits.csv"
imported --name classes --population labelled --input "$work/visits.csv" --users rows --class-column 5 \
  --classes yes,no --normalise none --column-bound 20 --range 1,10 --integers --epsilon 16 --delta 1e-5
imported --name films --population members --ratings "$top/examples/ratings/ratings.csv.gz" \
  --items "$top/examples/ratings/items.txt" --rating-range 1,5 --users-count 600 --epsilon 8 --delta 1e-5
# Many features with long names: 80 characters.
long=-of-the-department-of-very-long-names-and-of-all-other-matters-that-are-counted
awk -v long=$long 'BEGIN { for (d = 0; d < 5000; ++d) print substr(sprintf("gene%04d", d) long, 1, 80) }' >"$work/genes.txt"
awk 'BEGIN { print "%%MatrixMarket matrix coordinate integer general"; print 5000, 400, 400 * 250;
  for (n = 1; n <= 400; ++n) for (i = 0; i < 250; ++i) print 1 + (n % 2) * 2500 + i * 10, n, 1 + (n * 7 + i) % 5 }' >"$work/wide.mtx"
imported --name wide --population genes --input "$work/wide.mtx" --users columns --features "$work/genes.txt" --epsilon 16 --delta 1e-5
start_curator || fail "curator"
start_analyst || fail "analyst"
mkdir "$work/saved"
printf '%s\n' "$analyst_pid" >"$work/analyst.pid"
printf '%s\n' "$curator_pid" >"$work/curator.pid"

export DPNMF_WEB_SERVER=127.0.0.1:$analyst_port DPNMF_WEB_CERTS=$work/certs/alice DPNMF_WEB_WORK=$work
export DPNMF_WEB_PROGRAM=$build/bin/dpnmf DPNMF_WEB_OPERATOR=$build/bin/dpnmf-curator-web DPNMF_WEB_IMAGES=$images
disown -a  # the tests kill the servers, and the shell has nothing to say about it
passed=0 failed=0
pages() { # SCRIPT
  /usr/bin/python3 "$top/tests/web/$1" >"$work/$1.out" 2>&1
  sed '$d' "$work/$1.out"
  local last
  last=$(tail -n 1 "$work/$1.out")
  if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
  else
    echo "FAILED: $1: $last"
    failed=$((failed + 1))
  fi
}
pages page_test.py
# page_test.py has killed the analyst, at its end.
analyst_port=${DPNMF_WEB_SERVER##*:}
start_analyst || fail "the analyst does not come back"
disown -a
if [ -n "$images" ]; then
  # The parts that deploy/demo.sh draws, by its commands.
  exits 0 "the demo's run" as alice train --dataset digits --rank 10 --epsilon 4 --seed 1 --spend-again --wait
  run=$(sed -n 's/^run \([0-9a-f]*\) on digits$/\1/p' "$work/out")
  exits 0 "the demo's parts" as alice model "$run" --output "$images/demo_parts.png" --shape 8x8
fi
pages operator_test.py
pages reports_test.py
[ -z "$images" ] || digest_of_pages >"$images/pages.sha256"
echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed -gt 0 ]
