#!/usr/bin/env bash
# rows.sh SOURCE BIN: months of people with more features than a second moment has
# rows. All months are released on the rows of one file, and one dictionary is
# fitted to their sum.
set -uo pipefail
. "${BASH_SOURCE%/*}/servers.sh"

echo '{"peers": [{"identity": "dns:analyst", "roles": ["analyst"], "datasets": ["*"]}]}' > "$work/allow.json"
echo '{"peers": [{"identity": "dns:alice.client", "roles": ["analyst"]}]}' > "$work/clients.json"
curator_dirs=(--data-dir "$data" --anchor-dir "$work/anchor")
curator_flags() { echo "${curator_dirs[@]}" --allow "$work/allow.json" $(tls curator); }
analyst_flags() {
  echo --state-dir "$work/state" --curator "127.0.0.1:$curator_port" --clients "$work/clients.json" $(tls analyst)
}
ledger_bytes() { find "$data/ledger" "$work/anchor" -type f | sort | xargs sha256sum; }
unchanged() { [ "$(ledger_bytes)" = "$before" ] || fail "the ledger has changed: $1"; }

# Of two parts: even and odd features. Each month's people are others.
month=0
for m in jan feb mar; do
  month=$((month + 1))
  awk -v m=$month 'BEGIN { for (n = 0; n < 150; ++n) { line = ""
    for (d = 0; d < 1500; ++d) line = line (d ? "," : "") (d % 2 == n % 2 ? 1 + (n * 7 + d * m) % 5 : 0)
    print line } }' >"$work/$m.csv"
done
seq 10 25 1490 | sed '1i # every 25th' >"$work/rows.txt"
seq 11 25 1490 >"$work/other.txt"
for m in jan feb mar; do
  exits 0 "$m" dpnmf-curator import --name $m --population people-$m --input "$work/$m.csv" --users rows --epsilon 8 \
    --delta 1e-5 "${curator_dirs[@]}"
done

start_curator || fail "curator"
start_analyst || fail "analyst"
# Runs that were started apart have other rows and cannot be added.
exits 0 "january by itself" as alice train --dataset jan --rank 2 --mechanism moments --moment-rows 40 --epsilon 0.5 --even-if-unreliable --wait
exits 0 "february on other rows" as alice train --dataset feb --rank 2 --mechanism moments --epsilon 0.5 --rows "$work/other.txt" --even-if-unreliable --wait
before=$(ledger_bytes)
exits 2 "january's rows and february's" as alice train --datasets jan,feb,mar --rank 2 --moment-rows 40 --epsilon 1 --even-if-unreliable
says release-rows-differ
echo 1500 >"$work/beyond.txt"
exits 2 "a row that there is not" as alice train --datasets jan,feb --rank 2 --epsilon 1 --rows "$work/beyond.txt" --even-if-unreliable
says feature-rows-malformed
exits 2 "rows of another mechanism" as alice train --dataset feb --rank 2 --epsilon 1 --rows "$work/rows.txt" --rounds 3 --even-if-unreliable
says moment-rows-unused
unchanged "a refused run"

exits 0 "all months" as alice train --datasets jan,feb,mar --rank 2 --epsilon 2 --rows "$work/rows.txt" --seed 5 --spend-again --wait
[ "$(grep -c "is started and charged" "$work/out")" = 3 ] || fail "three months are not started"
joint=$(sed -n 's/^run \([0-9a-f]\{32\}\) on jan+feb+mar$/\1/p' "$work/out")
[ -n "$joint" ] || fail "no joint run"
exits 0 "numbers" as alice export "$joint" --moments --output "$work/joint.npz"
exits 0 "their rows" /usr/bin/python3 - "$work/joint.npz" "$work/rows.txt" <<'PYTHON'
import ast
import struct
import sys
import zipfile

data = zipfile.ZipFile(sys.argv[1]).read("rows.npy")
end = 10 + struct.unpack_from("<H", data, 8)[0]
header = ast.literal_eval(data[10:end].decode("latin-1"))
(count,) = header["shape"]
assert header["descr"] == "<f8", header
rows = list(struct.unpack(f"<{count}d", data[end:]))
named = [int(line) for line in open(sys.argv[2]) if not line.startswith("#")]
assert rows == named, (rows, named)
PYTHON

# Again, in another order, with the rows and without: nothing is charged.
before=$(ledger_bytes)
exits 0 "all months again" as alice train --datasets mar,jan,feb --rank 2 --rows "$work/rows.txt" --seed 5
grep -q "^$joint" "$work/out" || fail "the same request is another run"
exits 0 "all months without the file" as alice train --datasets mar,jan,feb --rank 2 --seed 5
grep -q "^$joint" "$work/out" || fail "without the file it is another run"
unchanged "what is released already"
echo "rows passed"
