#!/usr/bin/env bash
# deploy/demo-federation.sh: three hospitals on one machine. The shipped digits
# (1,797 people) are split in three; three curators and an analyst run on loopback
# with mutual TLS; one private dictionary is learned from all people, without bringing
# their data together, and the budgets of all three are shown.
#
#   DPNMF_DEMO_DIR    directory for all files; emptied at the start
#                     [.demo-federation]
#   DPNMF_BIN         directory of the programs [built in DPNMF_BUILD_DIR]
#   DPNMF_BUILD_DIR   directory for the build [build]
set -euo pipefail
case "${1:-}" in
  -h | --help)
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
    exit 0
    ;;
  ?*) echo "unknown option $1; see deploy/demo-federation.sh --help" >&2; exit 2 ;;
esac
top=$(cd "$(dirname "$0")/.." && pwd)
demo=${DPNMF_DEMO_DIR:-$top/.demo-federation}
. "$top/deploy/demo_lib.sh"

prepare
cd "$demo"
trap stop EXIT

say "certificates"
"$top/deploy/certs.sh" demo "$demo/certs"

say "three hospitals import their own people, each with its own cap"
echo '{"peers": [{"identity": "dns:analyst", "roles": ["analyst"], "datasets": ["hospitals"]}]}' >allow.json
echo '{"peers": [{"identity": "dns:alice.client", "roles": ["analyst"]}]}' >clients.json
port=7431
members=
for who in a b c; do
  zcat "$top/examples/digits/digits.csv.gz" | awk -v part=$(($(printf %d "'$who") - 97)) 'NR % 3 == part' >"$who.csv"
  dpnmf-curator import --name "digits-$who" --population "writers-$who" --input "$who.csv" --users rows \
    --epsilon 8 --delta 1e-5 --data-dir "$demo/$who" --anchor-dir "$demo/$who-anchor"
  port=$(free_port $((port + 1)))
  dpnmf-curator federation-member --data-dir "$demo/$who" --dataset "digits-$who" --name "hospital-$who" \
    --address "127.0.0.1:$port" >"$who.entry"
  members="$members${members:+,
    }$(cat "$who.entry")"
done

say "one federation.json, the same for everybody; at most one of the three may collude"
cat >federation.json <<JSON
{"federation": "hospitals", "colluders": 1, "copies": 1,
  "adjacency": "replace_one", "conversion": "gaussian",
  "features": 64, "normalisation": "l2", "column_bound": 1,
  "max_rank": 64, "max_rounds": 1000, "epsilon_if_others_collude": 16,
  "members": [
    $members]}
JSON
cat federation.json

say "three curators and the analyst's server"
for who in a b c; do
  address=$(sed 's/.*"address": "\([^"]*\)".*/\1/' "$who.entry")
  dpnmf-curator serve --data-dir "$demo/$who" --anchor-dir "$demo/$who-anchor" --allow allow.json \
    --federation federation.json --listen "$address" $(tls curator) >"$who.log" 2>&1 &
  servers+=($!)
done
analyst_port=$(free_port $((port + 1)))
dpnmf-analyst serve --state-dir "$demo/analyst" --listen "127.0.0.1:$analyst_port" --federation federation.json \
  --clients clients.json $(tls analyst) >analyst.log 2>&1 &
servers+=($!)
client() { dpnmf --server "127.0.0.1:$analyst_port" $(tls alice) "$@"; }
for _ in $(seq 100); do
  client budget --federation hospitals >/dev/null 2>&1 && break
  kill -0 "${servers[@]}" 2>/dev/null || exit 1
  sleep 0.1
done
client datasets

say "the cost of a run, before anything is spent"
run=(--federation hospitals --rank 10 --epsilon 2 --delta 1e-5)
client plan "${run[@]}"

say "training: each curator adds its share of the noise and masks; the analyst can read only the sum"
client train "${run[@]}" --seed 1 --wait
id=$(client runs --format json | sed -n 's/.*"run_id": "\([0-9a-f]*\)".*/\1/p' | head -1)

say "the budgets of all three"
client budget --federation hospitals
for who in a b c; do
  echo "-- hospital $who: both accounts"
  dpnmf-curator ledger show --last 2 --data-dir "$demo/$who" --anchor-dir "$demo/$who-anchor" | grep -v '^ *$' | head -n 24
  dpnmf-curator ledger verify --data-dir "$demo/$who" --anchor-dir "$demo/$who-anchor"
done

say "the dictionary"
client model "$id" --output "$demo/W.npy"
client model "$id" --output "$demo/parts.png" --shape 8x8 --order row

say "stopping"
kill -TERM "${servers[@]}"
wait
servers=()
echo "W (64 x 10, float64): $demo/W.npy"
echo "a picture of its parts: $demo/parts.png"
