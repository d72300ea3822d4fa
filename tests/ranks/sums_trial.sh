#!/usr/bin/env bash
# sums_trial.sh SOURCE BIN: dpnmf-sums in a shell pipeline and under Python's
# multiprocessing, its sums beside those of one process, and a run of them.
set -uo pipefail
. "$1/tests/integration/servers.sh"
echo '{"peers": [{"identity": "dns:analyst", "roles": ["analyst"], "datasets": ["*"]}]}' >"$work/allow.json"
echo '{"peers": [{"identity": "dns:alice.client", "roles": ["analyst"]}]}' >"$work/clients.json"
curator_dirs=(--data-dir "$data" --anchor-dir "$work/anchor")
curator_flags() { echo "${curator_dirs[@]}" --allow "$work/allow.json" $(tls curator); }
analyst_flags() {
  echo --state-dir "$work/state" --curator "127.0.0.1:$curator_port" --clients "$work/clients.json" $(tls analyst)
}
mkdir -m 700 "$data"
openssl rand -out "$data/fingerprint.key" 32
chmod 600 "$data/fingerprint.key"
zcat "$source/examples/digits/digits.csv.gz" >"$work/digits.csv"
sums=(dpnmf-sums people --features 64 --users-count 1797 --fingerprint-key "$data/fingerprint.key")

"${sums[@]}" <"$work/digits.csv" >"$work/one.txt" || fail "one process"
split -n l/5 "$work/digits.csv" "$work/part."
for part in "$work"/part.* /dev/null; do "${sums[@]}" <"$part"; done | dpnmf-sums add >"$work/shell.txt" ||
  fail "a shell pipeline"
/usr/bin/python3 - "$work" "${sums[@]}" <<'PYTHON' || fail "multiprocessing"
import functools
import multiprocessing
import subprocess
import sys

work, command = sys.argv[1], sys.argv[2:]


def sums(lines):
    return subprocess.run(command, input="".join(lines), text=True, check=True, stdout=subprocess.PIPE).stdout


def add(a, b):
    return subprocess.run(["dpnmf-sums", "add"], input=a + b, text=True, check=True, stdout=subprocess.PIPE).stdout


with open(work + "/digits.csv") as file:
    people = file.readlines()
with multiprocessing.Pool(3) as pool:
    parts = pool.map(sums, [people[n::7] for n in range(7)], chunksize=1)
with open(work + "/python.txt", "w") as file:
    file.write(functools.reduce(add, parts))
PYTHON
dpnmf-sums add <"$work/one.txt" >"$work/sorted.txt" || fail "add of one"
numbers() { sed -e '/^part /d' -e '/^end /d' -e '1s/ [0-9]*$//' "$1"; } # without the parts that made them
cmp <(numbers "$work/sorted.txt") <(numbers "$work/shell.txt") || fail "the shell pipeline has other sums"
cmp <(numbers "$work/sorted.txt") <(numbers "$work/python.txt") || fail "multiprocessing has other sums"

add_sums=(dpnmf-curator add-sums --name digits --population writers --epsilon 8 --delta 1e-5 "${curator_dirs[@]}")
cat "$work"/shell.txt "$work"/one.txt >"$work/twice.txt"
exits 2 "people that are counted twice" "${add_sums[@]}" --users-count 1797 --input "$work/twice.txt"
says users-mismatch
for adjacency in replace_one add_remove_one; do
  own=("${sums[@]}" --adjacency $adjacency)
  for part in "$work"/part.*; do "${own[@]}" <"$part"; done >"$work/parts.txt"
  dpnmf-sums add <"$work/parts.txt" >"$work/sum.txt" || fail "add"
  cat "$work/parts.txt" "$work/sum.txt" >"$work/twice.txt"
  exits 2 "parts and their sum" "${add_sums[@]}" --users-count 1797 --adjacency $adjacency --input "$work/twice.txt"
  says sums-duplicate
  exits 2 "a part that was retried" dpnmf-sums add < <("${own[@]}" <"$work/part.aa"; cat "$work/sum.txt")
  says sums-duplicate
done
head -c 20000 "$work/shell.txt" >"$work/cut.txt"
exits 2 "a part that is not whole" "${add_sums[@]}" --users-count 1797 --input "$work/cut.txt"
says sums-file-malformed
exits 0 "add-sums" "${add_sums[@]}" --users-count 1797 --input "$work/shell.txt"
exits 7 "the same people under another population" dpnmf-curator import --name again --population others \
  --input "$work/digits.csv" --users rows --epsilon 8 --delta 1e-5 "${curator_dirs[@]}"
says data-known

start_curator || fail "curator"
start_analyst || fail "analyst"
exits 0 "moments of sums" as alice train --dataset digits --mechanism moments --moment-rows 64 --rank 5 --rounds 1 \
  --epsilon 2 --wait
exits 9 "statistics of sums" as alice train --dataset digits --rank 5 --rounds 5 --epsilon 1 --wait
says sums-only
charges=$(dpnmf-curator ledger show "${curator_dirs[@]}" --format json | grep -c '"kind": "charge"')
[ "$charges" = 1 ] || fail "$charges charges, not 1"
