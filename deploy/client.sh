#!/usr/bin/env bash
# deploy/client.sh ARGUMENT...: runs the client program dpnmf in a container beside
# the analyst's, with the certificate of the client alice (made by deploy/up.sh).
# Files are written to the working directory.
#
#   DPNMF_SECRETS   directory of the certificates [./secrets]
#   DPNMF_CLIENT    client whose certificate is used [alice]
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
own=${DPNMF_SECRETS:-$top/secrets}/${DPNMF_CLIENT:-alice}
exec docker run --rm -i --network dpnmf-clients --read-only --cap-drop ALL \
  --security-opt no-new-privileges:true --user "$(stat -c %u:%g "$own/tls.key")" \
  -v "$own:/run/secrets:ro" -v "$PWD:/work" -w /work --entrypoint /usr/bin/dpnmf dpnmf-analyst \
  --server analyst:7432 --ca /run/secrets/ca.crt --cert /run/secrets/tls.crt --key /run/secrets/tls.key "$@"
