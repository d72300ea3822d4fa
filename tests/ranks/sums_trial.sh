#!/usr/bin/env bash
# sums_trial.sh SOURCE BIN: dpnmf-sums in a shell pipeline and under Python's
# multiprocessing, its sums beside those of one process, and a run of them.
set -uo pipefail
. "$1/tests/integration/servers.sh"
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

# More features than a second moment has rows: two months on the rows of one file.
for m in 1 2; do
  awk -v m=$m 'BEGIN { for (n = 0; n < 150; ++n) { line = ""
    for (d = 0; d < 1500; ++d) line = line (d ? "," : "") (d % 2 == n % 2 ? 1 + (n * 7 + d * m) % 5 + (d == n) : 0)
    print line } }' >"$work/month.$m"
done
seq 10 25 1490 | sed '1i # every 25th' >"$work/rows.txt"
seq 11 25 1490 >"$work/other.txt"
wide=(dpnmf-sums people --features 1500 --users-count 150 --fingerprint-key "$data/fingerprint.key")
exits 2 "1500 features without rows" "${wide[@]}" <"$work/month.1"
says "need --rows FILE"
echo 1500 >"$work/beyond.txt"
exits 2 "a row that there is not" "${wide[@]}" --rows "$work/beyond.txt" <"$work/month.1"
says feature-rows-malformed
seq 0 63 >"$work/all.txt"
exits 2 "the names of all" "${sums[@]}" --rows "$work/all.txt" <"$work/digits.csv"
says "leave out --rows"
wide+=(--rows "$work/rows.txt")
for m in 1 2; do
  split -n l/4 "$work/month.$m" "$work/month.$m.part."
  for part in "$work/month.$m".part.* /dev/null; do "${wide[@]}" <"$part"; done | dpnmf-sums add >"$work/month.$m.txt" ||
    fail "parts on rows"
  "${wide[@]}" --threads 2 <"$work/month.$m" | dpnmf-sums add >"$work/month.$m.one" || fail "one process on rows"
  cmp <(numbers "$work/month.$m.one") <(numbers "$work/month.$m.txt") || fail "parts on rows have other sums"
done
# The same part as a sparse file is the same part.
awk -F, '{ for (i = 1; i <= NF; ++i) if ($i > 0) { entry[++n] = NR " " i " " $i } }
  END { print "%%MatrixMarket matrix coordinate integer general"; print NR, NF, n; for (i = 1; i <= n; ++i) print entry[i] }' \
  "$work/month.1" >"$work/month.mtx"
cmp <("${wide[@]}" <"$work/month.1") <("${wide[@]}" <"$work/month.mtx") || fail "a sparse part has other sums"
"${wide[@]/rows.txt/other.txt}" <"$work/month.2.part.ab" >"$work/other.part"
# Lines of three fields are people, not triples.
printf '1,2,3\n4,5,6\n' >"$work/three.csv"
exits 0 "three entries" dpnmf-sums people --features 3 --users-count 2 --fingerprint-key "$data/fingerprint.key" \
  <"$work/three.csv"
says "^dpnmf-sums 1 3 2 "
exits 2 "ids in a sparse part" "${wide[@]}" --id-column 1 <"$work/month.mtx"
says flag-unused
exits 2 "a part on other rows" dpnmf-sums add < <("${wide[@]}" <"$work/month.2.part.aa"; cat "$work/other.part")
says "different flags, rows or keys"
take_month() { # NAME MONTH
  dpnmf-curator add-sums --name "$1" --population "people-$2" --users-count 150 --input "$work/month.$2.txt" \
    --epsilon 8 --delta 1e-5 "${curator_dirs[@]}"
}
exits 0 "the first month" take_month jan 1
says "sums on 60 rows"
exits 0 "the second month" take_month feb 2

start_curator || fail "curator"
start_analyst || fail "analyst"
exits 0 "moments of sums" as alice train --dataset digits --mechanism moments --moment-rows 64 --rank 5 --rounds 1 \
  --epsilon 2 --wait
exits 2 "statistics of sums" as alice train --dataset digits --rank 5 --rounds 5 --epsilon 1 --wait
says sums-only
charged() { # CHARGES WHAT
  local charges
  charges=$(dpnmf-curator ledger show "${curator_dirs[@]}" --format json | grep -c '"kind": "charge"')
  [ "$charges" = "$1" ] || fail "$2: $charges charges, not $1"
}
charged 1 "moments of sums"

exits 2 "other rows" as alice train --dataset jan --mechanism moments --rank 2 --epsilon 1 --rows "$work/other.txt" --even-if-unreliable
says sums-only
exits 2 "fewer rows" as alice train --dataset jan --mechanism moments --rank 2 --epsilon 1 --moment-rows 59 --even-if-unreliable
says sums-only
charged 1 "what was refused"
exits 0 "moments on the rows" as alice train --dataset jan --rank 2 --epsilon 1 --rows "$work/rows.txt" --even-if-unreliable --wait
charged 3 "a mean and moments on rows"
# Nobody needs to name them, and nothing else can be meant by auto.
exits 0 "the plan of auto" as alice plan --dataset feb --rank 2 --epsilon 1
says "contains sums over people, and no people"
exits 0 "both months" as alice train --datasets jan,feb --rank 2 --epsilon 1 --even-if-unreliable --wait
charged 5 "the second month alone"
joint=$(sed -n 's/^run \([0-9a-f]\{32\}\) on jan+feb$/\1/p' "$work/out")
exits 0 "numbers" as alice export "$joint" --moments --output "$work/joint.npz"
exits 0 "their rows" /usr/bin/python3 - "$work/joint.npz" "$work/rows.txt" <<'PYTHON'
import ast
import struct
import sys
import zipfile

data = zipfile.ZipFile(sys.argv[1]).read("rows.npy")
end = 10 + struct.unpack_from("<H", data, 8)[0]
(count,) = ast.literal_eval(data[10:end].decode("latin-1"))["shape"]
rows = list(struct.unpack(f"<{count}d", data[end:]))
assert rows == [int(line) for line in open(sys.argv[2]) if not line.startswith("#")], rows
PYTHON
