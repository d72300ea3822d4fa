#!/usr/bin/env bash
# Inside the container of run.sh, as root: uses the installed packages as
# docs/howto/debian_packages.md says. systemd does not run here: the units'
# ExecStart lines are run by setpriv, as the units' users and without new privileges.
set -euo pipefail
fail() {
  echo "FAILED: $*"
  tail -n 20 /tmp/*.log /tmp/out 2>/dev/null
  exit 1
}
ok() { echo "ok: $*"; }
cd /
echo "note: systemd is not the first process here; ExecStart lines are run by setpriv"

# Certificates of one CA; the keys belong to the servers' users.
certs=/usr/share/dpnmf-curator/certs.sh
$certs demo /pki >/tmp/out
for side in curator analyst; do
  [ "$(stat -c %U:%a /var/lib/dpnmf-$side)" = "dpnmf-$side:700" ] || fail "the state directory of dpnmf-$side is open"
  [ "$(stat -c %U:%G:%a /etc/dpnmf/$side)" = "root:dpnmf-$side:750" ] || fail "/etc/dpnmf/$side is open"
  install -o dpnmf-$side -m 0400 /pki/$side/{ca.crt,tls.crt,tls.key} /etc/dpnmf/$side
done
echo '{"peers": [{"identity": "dns:analyst", "roles": ["analyst"], "datasets": ["*"]}]}' >/etc/dpnmf/curator/allow.json
echo '{"peers": [{"identity": "dns:alice.client", "roles": ["analyst"]}]}' >/etc/dpnmf/analyst/clients.json
ok "users, directories, keys"

operator() { runuser -u dpnmf-curator -- "$@"; }
paths=(--data-dir /var/lib/dpnmf-curator --anchor-dir /var/lib/dpnmf-curator.anchor)
operator dpnmf-curator import --name digits --population writers --input /test/digits.csv.gz --users rows \
  --epsilon 8 --delta 1e-5 "${paths[@]}" >/tmp/out 2>&1 || fail "import"
ok "import"

servers=()
start() { # SIDE
  local unit=/usr/lib/systemd/system/dpnmf-$1.service line user
  line=$(sed -n 's/^ExecStart=//p' "$unit")
  user=$(sed -n 's/^User=//p' "$unit")
  setpriv --reuid "$user" --regid "$user" --clear-groups --no-new-privs --bounding-set -all \
    bash -c "umask 0077; exec $line" >"/tmp/$1.log" 2>&1 &
  servers+=($!)
}
client() { dpnmf --config /tmp/dpnmf.toml "$@" >/tmp/out 2>&1; }
cat >/tmp/dpnmf.toml <<'TEXT'
server = "localhost:7432"
ca = "/pki/alice/ca.crt"
cert = "/pki/alice/tls.crt"
key = "/pki/alice/tls.key"
TEXT
await() { # COMMAND...
  local end=$((SECONDS + 60))
  until "$@"; do
    [ $SECONDS -lt $end ] || return 1
    kill -0 "${servers[@]}" 2>/dev/null || return 1
    sleep 0.2
  done
}
start curator
start analyst
await client datasets || fail "the servers do not answer"
grep -q digits /tmp/out || fail "the data set is not on offer"
ok "both servers run by their units' command lines and users"

client train --dataset digits --rank 10 --epsilon 4 --seed 1 --wait || fail "train"
client budget --dataset digits --format json || fail "budget"
grep -q '"agree": true' /tmp/out || fail "the ledgers differ"
ok "trained; the ledgers agree"
DPNMF_CONFIG=/tmp/dpnmf.toml python3 - <<'PYTHON' || fail "Python"
from dpnmf import Client
with Client() as client:
    runs = client.runs()
    assert len(runs) == 1, runs
PYTHON
ok "the Python package asks the same server"
operator dpnmf-curator-web --data-dir /var/lib/dpnmf-curator >/tmp/web.log 2>&1 &
await grep -q token= /tmp/web.log || fail "the operator's page does not start"
python3 - <<'PYTHON' || fail "the operator's page"
import http.client, json, urllib.parse
address = urllib.parse.urlsplit(open("/tmp/web.log").readline().strip())
def ask(path, method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", address.port)
    connection.request(method, path, headers={"Host": address.netloc, **headers})
    reply = connection.getresponse()
    return reply, reply.read()
reply, _ = ask("/?" + address.query)
cookie = reply.headers["Set-Cookie"].split(";")[0]
_, text = ask("/api/key", "POST", **{"Cookie": cookie, "Content-Type": "application/json"})
reply, text = ask("/api/status", **{"Cookie": cookie, "X-Dpnmf-Key": json.loads(text)["key"]})
status = json.loads(text)
assert reply.status == 200 and status["populations"][0]["name"] == "writers", text
assert ask("/api/status")[0].status == 401
PYTHON
kill $!
ok "the operator's page shows the ledger"
for side in curator analyst; do
  file=/var/lib/dpnmf-$side/audit.jsonl
  [ "$(stat -c %U:%a $file)" = "dpnmf-$side:600" ] || fail "$file is open to others: $(stat -c %U:%a $file)"
done
ok "what they write is theirs alone"

kill -TERM "${servers[@]}" || fail "a server has gone"
for server in "${servers[@]}"; do wait "$server" || fail "a server does not end well"; done
ok "SIGTERM ends both"

# Removal leaves the state, with purge too; another installation goes on with it.
before=$(cd /var/lib && find dpnmf-curator dpnmf-curator.anchor dpnmf-analyst -type f -exec sha256sum {} + | sort)
export DEBIAN_FRONTEND=noninteractive
dpkg --purge dpnmf-curator dpnmf-analyst dpnmf dpnmf-lab >/tmp/out 2>&1 || fail "purge"
for gone in /usr/bin/dpnmf /usr/bin/dpnmf-curator /etc/dpnmf/curator/serve.toml /usr/lib/python3/dist-packages/dpnmf; do
  [ ! -e $gone ] || fail "$gone is left"
done
[ -e /etc/dpnmf/curator/tls.key ] || fail "the key was deleted"
[ "$(cd /var/lib && find dpnmf-curator dpnmf-curator.anchor dpnmf-analyst -type f -exec sha256sum {} + | sort)" = "$before" ] ||
  fail "removal changed the state"
ok "removal leaves state and keys"
dpkg -i /test/*.deb >/tmp/out 2>&1 || fail "install again"
operator dpnmf-curator ledger verify "${paths[@]}" >/tmp/out 2>&1 || fail "the ledger after another installation"
grep -q "ledger ok: [4-9] rows.*anchor: agrees" /tmp/out || fail "the ledger lacks rows"
ok "another installation has the ledger"
