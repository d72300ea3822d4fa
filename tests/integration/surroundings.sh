#!/usr/bin/env bash
# surroundings.sh SOURCE BIN: what the machine around the programs may do to them: a
# standard output that cannot be written; proxies that are set for all programs; a
# configuration file in another directory; an allow-list with names of nothing; a server
# of another name.
set -uo pipefail
. "${BASH_SOURCE%/*}/servers.sh"
proxy_pid=
trap 'kill -KILL $proxy_pid 2>/dev/null; finish' EXIT
analyst_logs() { # PATTERN: the greeting of the curator follows "listens on".
  for _ in $(seq 200); do
    grep -q "$1" "$work/analyst.log" && return
    sleep 0.05
  done
  fail "the analyst's log does not say '$1'"
}

# ---- A standard output that cannot be written ----
# PROGRAM ARGUMENT...: is refused by its sentence on a full disk and a closed output,
# and is quiet about a reader that has gone.
loses_output() {
  local what="$*" got
  "$@" 2>"$work/out" >/dev/full
  got=$?
  [ $got != 0 ] || fail "$what: exit 0 on a full disk"
  says "Standard output cannot be written: No space left on device; "
  says output-not-written
  "$@" 2>"$work/out" >&-
  got=$?
  [ $got != 0 ] || fail "$what: exit 0 with standard output closed"
  says "Standard output cannot be written: Bad file descriptor; "
  says output-not-written
  for disposition in - ''; do
    mkfifo "$work/pipe"
    exec 8<>"$work/pipe" 9>"$work/pipe" 8>&- # a pipe that nobody reads
    (trap -- "$disposition" PIPE; exec "$@") 2>"$work/out" >&9
    got=$?
    exec 9>&-
    rm "$work/pipe"
    [ $got != 0 ] || fail "$what: exit 0 though nobody reads"
    [ ! -s "$work/out" ] || fail "$what: not quiet though nobody reads"
  done
}
for program in dpnmf dpnmf-analyst dpnmf-curator dpnmf-curator-web dpnmf-lab dpnmf-sums; do
  for word in --help --version --manual --completion; do loses_output $program $word; done
done
account=(account --releases 2 --noise-multiplier 1 --delta 1e-6)
loses_output dpnmf "${account[@]}"
loses_output dpnmf "${account[@]}" --format json
dpnmf "${account[@]}" --format json 2>"$work/out" >/dev/full
[ $? = 1 ] || fail "not exit 1"
says '^{"error":{"code":"output-not-written","message":"Standard output cannot be written: .*"exit_code":1}}$'
# An error of the command keeps its exit code.
dpnmf-curator ledger show --data-dir "$work/nowhere" >/dev/full 2>"$work/out"
[ $? = 4 ] || fail "the exit code of another error"

# The report of an import is lost, the import is not; and no file of the curator gets
# the number of a closed stream.
import() { # NAME COUNT
  head -n "$2" "$work/people.csv" >"$work/part.csv"
  dpnmf-curator import --name "$1" --population "$1" --input "$work/part.csv" --users rows --epsilon 4 --delta 1e-3 \
    "${curator_dirs[@]}"
}
import full 100 >/dev/full 2>"$work/out" && fail "exit 0 of an import on a full disk"
says output-not-written
import out 90 >&- 2>"$work/out" && fail "exit 0 of an import without standard output"
import in 80 0>&- 1>/dev/null 2>&- || fail "an import without standard input and standard error"
exits 0 "no ledger was written to" dpnmf-curator ledger verify "${curator_dirs[@]}"
for command in "ledger show" "ledger verify"; do
  loses_output dpnmf-curator $command "${curator_dirs[@]}"
  loses_output dpnmf-curator $command "${curator_dirs[@]}" --format json
done

# ---- Proxies of the environment ----
# Nobody listens on port 9 of loopback. The analyst has it for its proxy, too.
export https_proxy=http://127.0.0.1:9
exits 0 "import" import people 300
start_curator || fail "curator"
start_analyst || fail "analyst"
analyst_logs "offers 4 data set"
exits 0 "health" dpnmf-curator health --listen "127.0.0.1:$curator_port" $(tls curator)
for name in grpc_proxy https_proxy HTTPS_PROXY http_proxy all_proxy; do
  unset https_proxy
  exits 0 "$name" env $name=http://127.0.0.1:9 dpnmf --server "127.0.0.1:$analyst_port" $(tls alice) datasets
  exits 5 "$name, asked for" env $name=http://127.0.0.1:9 DPNMF_USE_PROXY=on \
    dpnmf --server "127.0.0.1:$analyst_port" $(tls alice) datasets
  says "through the proxy http://127.0.0.1:9 that $name names"
done
export https_proxy=http://127.0.0.1:9
exits 0 "doctor" as alice doctor
says "Not used: the proxy http://127.0.0.1:9 that https_proxy names"
exits 7 "doctor, with the proxy" as alice doctor --use-proxy
says "FAILED .*through the proxy http://127.0.0.1:9 that https_proxy names"
exits 0 "a host that is exempt" env no_proxy=127.0.0.1 \
  dpnmf --server "127.0.0.1:$analyst_port" $(tls alice) datasets --use-proxy
examine_analyst() { dpnmf-analyst doctor $(analyst_flags) "$@"; }
mkdir -p "$work/state"
exits 0 "the analyst's doctor" examine_analyst
exits 7 "the analyst's doctor, with the proxy" examine_analyst --use-proxy
# A proxy that connects: a stand-in that knows CONNECT and writes down to where.
cat >"$work/proxy.py" <<'TEXT'
import socket, sys, threading
def copy(source, sink):
    while data := source.recv(65536):
        sink.sendall(data)
    sink.close()
def serve(peer):
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += peer.recv(1)
    target = head.split()[1].decode()
    print(target, b"Basic YW5uOnNlY3JldA==" in head, flush=True)  # ann:secret
    host, _, port = target.rpartition(":")
    there = socket.create_connection((host, int(port)))
    peer.sendall(b"HTTP/1.0 200 Connection established\r\n\r\n")
    threading.Thread(target=copy, args=(there, peer), daemon=True).start()
    copy(peer, there)
listener = socket.create_server(("127.0.0.1", 0))
print("listens on 127.0.0.1:%d" % listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
TEXT
: >"$work/proxy.log"
python3 "$work/proxy.py" >>"$work/proxy.log" 2>&1 &
proxy_pid=$!
await_port "listens on" "$work/proxy.log" $proxy_pid || fail "the stand-in of a proxy"
through=https_proxy=http://ann:secret@127.0.0.1:$(port_in "listens on" "$work/proxy.log")
exits 0 "through a proxy" env $through dpnmf --server "127.0.0.1:$analyst_port" $(tls alice) datasets --use-proxy
exits 0 "doctor through a proxy" env $through dpnmf --server "127.0.0.1:$analyst_port" $(tls alice) doctor --use-proxy
[ "$(grep -c "^127.0.0.1:$analyst_port True$" "$work/proxy.log")" = 3 ] || fail "the connections of the proxy"
kill $proxy_pid
proxy_pid=
kill -TERM $analyst_pid && wait $analyst_pid
start_analyst --use-proxy || fail "analyst with the proxy"
analyst_logs "curator .* is not reachable now"
analyst_logs "through the proxy http://127.0.0.1:9 that https_proxy names"

# ---- Names in the allow-list that nothing has ----
kill -TERM $analyst_pid $curator_pid && wait $analyst_pid $curator_pid
names() { # DATASETS POPULATION
  echo "{\"peers\": [{\"identity\": \"dns:analyst\", \"roles\": [\"analyst\"], \"datasets\": [$1],
    \"budgets\": [{\"population\": \"$2\", \"epsilon\": 4}]}]}" >"$work/allow.json"
}
examine_curator() { dpnmf-curator doctor $(curator_flags); }
for known in '"people", "full"' '"*"'; do
  names "$known" people
  start_curator || fail "curator"
  exits 0 "doctor" examine_curator
  ! grep -q "There is no [dp]" "$work/out" "$work/curator.log" || fail "a name that is there is unknown: $known"
  kill -TERM $curator_pid && wait $curator_pid
done
names '"people", "peple", "visits"' peopel
start_curator || fail "curator"
exits 0 "doctor" examine_curator
for log in out curator.log; do
  for sentence in 'data set `peple` (did you mean `people`?)' 'data set `visits` (there are: full, in, out, people)' \
    'population `peopel` (did you mean `people`?)'; do
    grep -F "$sentence; it is listed for dns:analyst" "$work/$log" | grep -qi warning || fail "$log: $sentence"
  done
done
grep -q "^WARNING  *grants" "$work/out" || fail "the check of the grants"
echo '{"peers": [{"identity": "dns:analyst", "roles": ["analyst"], "datasets": ["*"]}]}' >"$work/allow.json"

# ---- Paths of a configuration file ----
unset https_proxy
start_analyst || fail "analyst"
cat >"$work/dpnmf.toml" <<TEXT
server = "127.0.0.1:$analyst_port"
ca = "certs/alice/ca.crt"
cert = "./certs/alice/tls.crt"
key = "$work/certs/alice/tls.key"
[train]
init = "public:nowhere.npy"
TEXT
cd /
exits 0 "from another directory" dpnmf --config "$work/dpnmf.toml" datasets
dpnmf --config "$work/dpnmf.toml" train --dataset people --rank 2 --rounds 2 --epsilon 1 >"$work/out" 2>&1 &&
  fail "a start that is not there"
says "$work/nowhere.npy"
for prior in none.csv moment:none.npy; do
  sed -i "s/^\(init\|prior\) =.*/prior = \"$prior\"/" "$work/dpnmf.toml"
  dpnmf --config "$work/dpnmf.toml" train --dataset people --rank 2 --epsilon 1 >"$work/out" 2>&1 &&
    fail "a prior that is not there"
  says "$work/${prior#*:}"
done
exits 0 "by the variable" env DPNMF_CONFIG="$work/dpnmf.toml" dpnmf datasets
cat >"$work/serve.toml" <<TEXT
[doctor]
data-dir = "data"
anchor-dir = "anchor"
allow = "allow.json"
ca = "certs/curator/ca.crt"
cert = "certs/curator/tls.crt"
key = "certs/curator/tls.key"
TEXT
exits 0 "the curator's file" dpnmf-curator doctor --config "$work/serve.toml"
sed -i 's/^\[doctor\]/[serve]/' "$work/serve.toml"
exits 0 "the file of serve" dpnmf-curator doctor --config "$work/serve.toml"
exits 2 "an unknown command" dpnmf-curator nonsense --help
printf '[import]\ninput = "people.csv"\nusers = "rows"\n' >"$work/import.toml"
exits 0 "an import's file" dpnmf-curator import --config "$work/import.toml" --dry-run

# ---- A server of another name ----
certs issue "$work/certs" other --dns other.example
analyst_flags() {
  echo --state-dir "$work/$state" --curator "127.0.0.1:$curator_port" --clients "$work/clients.json" $(tls "$who")
}
who=other
kill -TERM $analyst_pid && wait $analyst_pid
start_analyst || fail "analyst of another name"
for command in datasets runs "plan --dataset people --rank 2 --epsilon 1" "train --dataset people --rank 2 --epsilon 1" \
  "budget --dataset people" "watch 0123456789abcdef0123456789abcdef" "model 0123456789abcdef0123456789abcdef --output $work/W.npy"; do
  exits 6 "$command" as alice $command
  says "not for the name 127.0.0.1 .*(other.example).*certificate-wrong-name"
done
exits 7 "doctor" as alice doctor
says "FAILED  *server name"
# The analyst's link to its curator.
who=analyst
kill -TERM $analyst_pid $curator_pid && wait $analyst_pid $curator_pid
curator_flags() { echo "${curator_dirs[@]}" --allow "$work/allow.json" $(tls other); }
start_curator || fail "curator of another name"
start_analyst || fail "analyst"
analyst_logs "not for the name 127.0.0.1 .*certificate-wrong-name"
exits 6 "the analyst's link" as alice datasets
says "refuses the certificate of its curator, not yours.*certificate-wrong-name"
exits 7 "the analyst's doctor" examine_analyst
says "FAILED  *curator  *.*not for the name 127.0.0.1"
