#!/usr/bin/env bash
# deploy/demo-recommender.sh: a private recommender on one machine, with the shipped
# ratings (generated: 600 people, 300 films). A film club imports them, an analyst
# learns a model of the films with mutual TLS, the club makes its members' lists with
# it, and a front end asks the list service for one member's list with a token.
#
#   DPNMF_DEMO_DIR    directory for all files; emptied at the start
#                     [.demo-recommender]
#   DPNMF_BIN         directory of the programs [built in DPNMF_BUILD_DIR]
#   DPNMF_BUILD_DIR   directory for the build [build]
set -euo pipefail
case "${1:-}" in
  -h | --help)
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
    exit 0
    ;;
  ?*) echo "unknown option $1; see deploy/demo-recommender.sh --help" >&2; exit 2 ;;
esac
top=$(cd "$(dirname "$0")/.." && pwd)
demo=${DPNMF_DEMO_DIR:-$top/.demo-recommender}
. "$top/deploy/demo_lib.sh"

prepare python
cd "$demo"
trap stop EXIT

say "certificates (a CA; the club's curator, the analyst, a data scientist, the club's front end)"
"$top/deploy/certs.sh" demo "$demo/certs"
"$top/deploy/certs.sh" issue "$demo/certs" front --dns front.club

say "the club imports its ratings, with a cap of epsilon 8 for its members"
data=(--data-dir "$demo/curator" --anchor-dir "$demo/curator-anchor")
dpnmf-curator import --name films --population members \
  --ratings "$top/examples/ratings/ratings.csv.gz" --items "$top/examples/ratings/items.txt" \
  --item-features "$top/examples/ratings/item_features.csv" --rating-range 1,5 --users-count 600 \
  --epsilon 8 --delta 1e-5 "${data[@]}"
cat >allow.json <<'JSON'
{"peers": [
  {"identity": "dns:analyst", "roles": ["analyst"], "datasets": ["films"]},
  {"identity": "dns:front.club", "roles": ["front_end"], "datasets": ["films"]}]}
JSON
echo '{"peers": [{"identity": "dns:alice.client", "roles": ["analyst"]}]}' >clients.json

curator_port=$(free_port 7431)
analyst_port=$(free_port $((curator_port + 1)))
lists_port=$(free_port $((analyst_port + 1)))
curator() { # LOG FLAG...
  local log=$1
  shift
  dpnmf-curator serve "${data[@]}" --listen "127.0.0.1:$curator_port" --allow allow.json $(tls curator) "$@" \
    >"$log" 2>&1 &
  servers+=($!)
}
client() { dpnmf --server "127.0.0.1:$analyst_port" $(tls alice) "$@"; }

say "two servers on loopback, TLS 1.3, each with its certificate"
curator curator.log
dpnmf-analyst serve --state-dir "$demo/analyst" --listen "127.0.0.1:$analyst_port" \
  --curator "127.0.0.1:$curator_port" --clients clients.json $(tls analyst) >analyst.log 2>&1 &
servers+=($!)
await_servers

say "the cost of a run and what to expect of it, before anything is spent"
client plan --dataset films --epsilon 6

say "the analyst learns a model of the films"
client train --dataset films --epsilon 6 --wait
id=$(client runs --format json | sed -n 's/.*"run_id": "\([0-9a-f]*\)".*/\1/p' | head -1)
client model "$id" --output items.npz
client model "$id" --similar 'The Last Witness (2017)' --top 5
client budget --dataset films

say "the club makes lists: of one member with reasons, of somebody new, of everybody"
lists() { dpnmf-curator recommend --data-dir "$demo/curator" --name films --model items.npz "$@"; }
lists --user-file - --top 3 --explain <<<p242 # no id in a command line, which all users can read
lists --user-file - --top 3 <<<somebody-new
lists --all --output lists.csv

say "the club serves lists: a front end asks for the list of the member who is logged in"
kill -TERM "${servers[@]}"
wait
servers=()
openssl genpkey -algorithm ed25519 -out token.key 2>/dev/null
openssl pkey -in token.key -pubout -out token.pub
curator lists.log --recommend-listen "127.0.0.1:$lists_port" --recommend-dataset films \
  --recommend-model items.npz --recommend-token-key token.pub
for _ in $(seq 100); do
  (: <"/dev/tcp/127.0.0.1/$lists_port") 2>/dev/null && break
  kill -0 "${servers[@]}" 2>/dev/null || exit 1
  sleep 0.1
done
sleep 2 # a token of 60 seconds passes one second after the service has started
front_end() { # TOKEN
  PATH=/usr/bin:$PATH python3 "$top/examples/ratings/front_end.py" --server "127.0.0.1:$lists_port" $(tls front) \
    --token-file - --top 3 --explain <<<"$1"
}
if PATH=/usr/bin:$PATH python3 -c 'import google.protobuf, grpc' 2>/dev/null; then
  token=$(dpnmf-curator token --key token.key --audience films --user-file - <<<p242)
  front_end "$token"
  echo "-- the same token a second time:"
  if front_end "$token"; then exit 1; fi
else
  echo "left out: python3-grpcio and python3-protobuf are not installed (deploy/install.sh python)"
fi

say "stopping"
kill -TERM "${servers[@]}"
wait
servers=()
echo "the model of the films, which may be published: $demo/items.npz"
echo "the lists of all members, private data: $demo/lists.csv"
