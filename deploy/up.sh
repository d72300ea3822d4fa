#!/usr/bin/env bash
# deploy/up.sh: makes missing certificates and allow-lists in ./secrets, builds the
# images if they are missing, starts both containers, waits until they are healthy
# and prints the client's command.
#
# Only the build needs a network. If a machine has a network only before the
# deployment, run deploy/images.sh first.
#
#   DPNMF_SECRETS   certificates and allow-lists [./secrets]
#   DPNMF_PORT      port on 127.0.0.1 for clients [7432]
#   DPNMF_CRL       on: both servers refuse the certificates on the CA's revocation
#                   list, and deny all access after the list has expired. This
#                   script renews the list (30 days) each time; call it from a
#                   timer. [off]
set -euo pipefail
case "${1:-}" in -h | --help)
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit 0
  ;;
esac
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
export DPNMF_SECRETS=${DPNMF_SECRETS:-$top/secrets} DPNMF_PORT=${DPNMF_PORT:-7432}
case ${DPNMF_CRL:-off} in
  off) export DPNMF_CRL_FILE= ;;
  on) export DPNMF_CRL_FILE=/run/secrets/ca.crl ;;
  *) echo "DPNMF_CRL is on or off" >&2; exit 2 ;;
esac

deploy/compose.sh version >/dev/null # before anything is made
if [ ! -e "$DPNMF_SECRETS/curator/tls.key" ]; then
  deploy/certs.sh demo "$DPNMF_SECRETS"
elif [ -n "$DPNMF_CRL_FILE" ] && [ -e "$DPNMF_SECRETS/ca/ca.key" ]; then
  deploy/certs.sh crl "$DPNMF_SECRETS"
fi
mkdir -p "$DPNMF_SECRETS/curator-config" "$DPNMF_SECRETS/analyst-config"
allow=$DPNMF_SECRETS/curator-config/allow.json
clients=$DPNMF_SECRETS/analyst-config/clients.json
[ -e "$allow" ] || cat >"$allow" <<'TEXT'
{"peers": [{"identity": "dns:analyst", "roles": ["analyst"], "datasets": ["*"]}]}
TEXT
[ -e "$clients" ] || cat >"$clients" <<'TEXT'
{"peers": [{"identity": "dns:alice.client", "roles": ["analyst"]}]}
TEXT
# Each container's files belong to its user only.
chmod 755 "$DPNMF_SECRETS"
chown -R 10001:10001 "$DPNMF_SECRETS/curator" "$DPNMF_SECRETS/curator-config"
chown -R 10002:10002 "$DPNMF_SECRETS/analyst" "$DPNMF_SECRETS/analyst-config"
chmod 700 "$DPNMF_SECRETS"/{curator,analyst}{,-config}
chmod 600 "$allow" "$clients"

for image in dpnmf-curator dpnmf-analyst; do
  docker image inspect "$image" >/dev/null 2>&1 || { deploy/images.sh; break; }
done
deploy/compose.sh up -d
for service in curator analyst; do
  health=absent
  for _ in $(seq 90); do
    id=$(deploy/compose.sh ps -q "$service")
    [ -n "$id" ] || break
    health=$(docker inspect -f '{{.State.Health.Status}}' "$id")
    [ "$health" != healthy ] || break
    sleep 1
  done
  if [ "$health" != healthy ]; then
    echo "$service is $health; its log:" >&2
    deploy/compose.sh logs --tail 20 "$service" >&2
    exit 1
  fi
done
echo "both containers are healthy. A client, in a container:"
echo "  deploy/client.sh datasets"
echo "or with dpnmf installed on this machine:"
echo "  dpnmf --server 127.0.0.1:$DPNMF_PORT --ca $DPNMF_SECRETS/alice/ca.crt \\"
echo "    --cert $DPNMF_SECRETS/alice/tls.crt --key $DPNMF_SECRETS/alice/tls.key datasets"
