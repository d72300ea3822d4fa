#!/usr/bin/env bash
# deploy/demo.sh: demonstrates the whole product on one machine. Installs missing
# packages, builds, makes certificates, imports the shipped digits (1,797 people,
# 64 features), starts a curator and an analyst on loopback with mutual TLS,
# trains a private dictionary, shows its cost on both sides and draws the learned
# parts.
#
#   --serve           only starts both servers and leaves them running, for clients
#                     with --config .demo/dpnmf.toml; prints how to stop them
#
#   DPNMF_DEMO_DIR    directory for all files; emptied at the start [.demo]
#   DPNMF_BIN         directory of the programs [built in DPNMF_BUILD_DIR]
#   DPNMF_BUILD_DIR   directory for the build [build]
set -euo pipefail
serve=
case "${1:-}" in
  -h | --help)
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
    exit 0
    ;;
  --serve) serve=yes ;;
  ?*) echo "unknown option $1; see deploy/demo.sh --help" >&2; exit 2 ;;
esac
top=$(cd "$(dirname "$0")/.." && pwd)
demo=${DPNMF_DEMO_DIR:-$top/.demo}
. "$top/deploy/demo_lib.sh"
prepare

say "certificates (a CA, one for each server, one for a data scientist)"
"$top/deploy/certs.sh" demo "$demo/certs"

say "the hospital imports its data, with a cap of epsilon 8 for these people"
dpnmf-curator import --name digits --population writers \
  --input "$top/examples/digits/digits.csv.gz" --users rows \
  --epsilon 8 --delta 1e-5 \
  --data-dir "$demo/curator" --anchor-dir "$demo/curator-anchor"
cat > "$demo/curator-allow.json" <<'EOF'
{"peers": [{"identity": "dns:analyst", "roles": ["analyst"], "datasets": ["digits"]}]}
EOF
cat > "$demo/analyst-clients.json" <<'EOF'
{"peers": [{"identity": "dns:alice.client", "roles": ["analyst"]}]}
EOF

curator_port=$(free_port 7431)
analyst_port=$(free_port $((curator_port + 1)))
trap stop EXIT

say "two servers on loopback, TLS 1.3, each with its certificate"
dpnmf-curator serve --data-dir "$demo/curator" --anchor-dir "$demo/curator-anchor" \
  --listen "127.0.0.1:$curator_port" --allow "$demo/curator-allow.json" \
  --ca "$demo/certs/curator/ca.crt" --cert "$demo/certs/curator/tls.crt" --key "$demo/certs/curator/tls.key" \
  >"$demo/curator.log" 2>&1 &
servers+=($!)
dpnmf-analyst serve --state-dir "$demo/analyst" --listen "127.0.0.1:$analyst_port" \
  --curator "127.0.0.1:$curator_port" --clients "$demo/analyst-clients.json" \
  --ca "$demo/certs/analyst/ca.crt" --cert "$demo/certs/analyst/tls.crt" --key "$demo/certs/analyst/tls.key" \
  >"$demo/analyst.log" 2>&1 &
servers+=($!)
cat > "$demo/dpnmf.toml" <<EOF
server = "127.0.0.1:$analyst_port"
ca = "$demo/certs/alice/ca.crt"
cert = "$demo/certs/alice/tls.crt"
key = "$demo/certs/alice/tls.key"
EOF
client() { dpnmf --config "$demo/dpnmf.toml" "$@"; }
await_servers
if [ -n "$serve" ]; then
  trap - EXIT
  printf '\nboth servers run; their clients: --config %s\nto stop them: kill %s\n' "$demo/dpnmf.toml" "${servers[*]}"
  exit 0
fi

say "the cost of a run, before anything is spent"
run=(--dataset digits --rank 10 --epsilon 4 --delta 1e-5)
client plan "${run[@]}"

say "training"
client train "${run[@]}" --seed 1 --wait
id=$(client runs --format json | sed -n 's/.*"run_id": "\([0-9a-f]*\)".*/\1/p' | head -1)

say "the budget, as the analyst sees it"
client budget --dataset digits

say "the budget, as the curator's ledger records it"
dpnmf-curator ledger show --last 6 \
  --data-dir "$demo/curator" --anchor-dir "$demo/curator-anchor"
dpnmf-curator ledger verify --data-dir "$demo/curator" --anchor-dir "$demo/curator-anchor"

say "the dictionary"
client model "$id" --output "$demo/W.npy"
client model "$id" --output "$demo/parts.png" --shape 8x8 --order row
ls -l "$demo/W.npy" "$demo/parts.png"

say "stopping both servers"
kill -TERM "${servers[@]}"
wait
servers=()
echo "W (64 x 10, float64): $demo/W.npy"
echo "a picture of its parts: $demo/parts.png"
