#!/usr/bin/env bash
# deploy/up.sh: makes certificates and allow-lists in ./secrets if there are none,
# starts both containers, waits until they are healthy and prints the client's
# command. The images are built before, by deploy/images.sh (it needs a network).
#
#   DPNMF_SECRETS   certificates and allow-lists [./secrets]
#   DPNMF_PORT      port on 127.0.0.1 for clients [7432]
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
export DPNMF_SECRETS=${DPNMF_SECRETS:-$top/secrets} DPNMF_PORT=${DPNMF_PORT:-7432}

for image in dpnmf-curator dpnmf-analyst; do
  docker image inspect "$image" >/dev/null 2>&1 || {
    echo "there is no image $image: run deploy/images.sh first" >&2; exit 1; }
done
if [ ! -e "$DPNMF_SECRETS/curator/tls.key" ]; then
  deploy/certs.sh demo "$DPNMF_SECRETS"
  # Read by the containers' users alone.
  chown -R 10001:10001 "$DPNMF_SECRETS/curator"
  chown -R 10002:10002 "$DPNMF_SECRETS/analyst"
fi
mkdir -p "$DPNMF_SECRETS/config"
chmod 755 "$DPNMF_SECRETS" "$DPNMF_SECRETS/config"
[ -e "$DPNMF_SECRETS/config/allow.json" ] || cat > "$DPNMF_SECRETS/config/allow.json" <<'EOF'
{"grants": [{"identity": "dns:analyst", "roles": ["analyst"], "datasets": ["*"]}]}
EOF
[ -e "$DPNMF_SECRETS/config/clients.json" ] || cat > "$DPNMF_SECRETS/config/clients.json" <<'EOF'
{"clients": [{"identity": "dns:alice.client", "roles": ["analyst"]}]}
EOF
chmod 644 "$DPNMF_SECRETS"/config/*.json

docker-compose up -d
for service in curator analyst; do
  for _ in $(seq 60); do
    id=$(docker-compose ps -q "$service")
    health=$(docker inspect -f '{{.State.Health.Status}}' "$id")
    [ "$health" != healthy ] || break
    sleep 1
  done
  if [ "$health" != healthy ]; then
    echo "$service is $health; its log:" >&2
    docker-compose logs --tail 20 "$service" >&2
    exit 1
  fi
done
echo "both containers are healthy. A client on this machine:"
echo "  dpnmf --server 127.0.0.1:$DPNMF_PORT --ca $DPNMF_SECRETS/alice/ca.crt \\"
echo "    --cert $DPNMF_SECRETS/alice/tls.crt --key $DPNMF_SECRETS/alice/tls.key datasets"
