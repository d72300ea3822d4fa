#!/usr/bin/env bash
# The tables of docs/research/utility.md over files of your own:
#
#   bench/utility.sh OUTPUT FILE:USERS:RANK[:FORMAT] ...
#
# USERS: rows or columns. FORMAT: that of --format-in (default auto). Each file
# is evaluated into OUTPUT/NAME (report.html and the rest); then one table of
# all stands on standard output and in OUTPUT/utility.md. Without files: the
# example's digits. Declares the data public: never for private data.
#
# From the environment: EPSILON (1,4,16), DELTA (1e-5), CONVERSION (gaussian; or
# rdp, rdp_optimal), REPEATS (5), MECHANISM
# (all), LAB (build/bin/dpnmf-lab). Names of files hold no comma and no
# colon. Ctrl-C ends it; the finished evaluations stay.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
case "${1:-}" in "" | -h | --help)
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit 0
  ;;
esac
output=$1
shift
[ $# -gt 0 ] || set -- "$root/examples/digits/digits.csv.gz:rows:16"
epsilon=${EPSILON:-1,4,16}
mkdir -p "$output"
tables=()
for specification in "$@"; do
  IFS=: read -r file users rank format <<<"$specification"
  name=$(basename "$file")
  "${LAB:-$root/build/bin/dpnmf-lab}" evaluate --input "$file" --users "$users" \
    --rank "$rank" --format-in "${format:-auto}" --epsilon "$epsilon" --delta "${DELTA:-1e-5}" \
    --mechanism "${MECHANISM:-all}" --conversion "${CONVERSION:-gaussian}" --repeats "${REPEATS:-5}" --public --output "$output/$name" >&2
  tables+=("$output/$name/results.csv")
done
# Medians and ranges over repeats; of the published algorithm and statistics the
# number of rounds with the least median.
awk -F, -v epsilons="$epsilon" '
  function median(list,  values, n, i, j, t) {
    n = split(list, values, " ")
    for (i = 2; i <= n; ++i)
      for (j = i; j > 1 && values[j - 1] + 0 > values[j] + 0; --j) {
        t = values[j]; values[j] = values[j - 1]; values[j - 1] = t
      }
    least = values[1]; largest = values[n]
    return n % 2 ? values[(n + 1) / 2] : (values[n / 2] + values[n / 2 + 1]) / 2
  }
  function text(x) { x = sprintf("%.4f", x); sub(/^0/, "", x); return x }
  FNR == 1 { next }
  $2 == "as given" && $4 == "off" {
    if (!($1 in known)) { known[$1]; names[++files] = $1 }
    key = $1 SUBSEP $3 SUBSEP $5
    all[key SUBSEP $7] = all[key SUBSEP $7] " " $10
    rounds[key] = index(rounds[key] " ", " " $7 " ") ? rounds[key] : rounds[key] " " $7
  }
  function range(rounds) {
    if (least == largest) return rounds == "" ? "" : " (T = " rounds ")"
    return " (" text(least) " to " text(largest) (rounds == "" ? "" : "; T = " rounds) ")"
  }
  function cell(name, mechanism, epsilon,  key, tried, n, i, m, best, shown, list) {
    key = name SUBSEP mechanism SUBSEP epsilon
    if (!(key in rounds)) return ""
    n = split(rounds[key], tried, " ")
    if (n == 0) { list = all[key SUBSEP ""]; m = median(list); return text(m) range("") }
    best = ""
    for (i = 1; i <= n; ++i) {
      m = median(all[key SUBSEP tried[i]])
      if (best == "" || m < best) { best = m; shown = text(m) range(tried[i]) }
    }
    return shown
  }
  END {
    count = split(epsilons, epsilon, ",")
    count_of_mechanisms = split("none mean moments statistics gradient paper paper-nndsvd nndsvd", mechanism, " ")
    line = "| data | mechanism |"; rule = "|---|---|"
    for (e = 1; e <= count; ++e) { line = line " epsilon " epsilon[e] " |"; rule = rule "---|" }
    print line; print rule
    for (f = 1; f <= files; ++f)
      for (m = 1; m <= count_of_mechanisms; ++m) {
        line = ""; some = 0
        for (e = 1; e <= count; ++e) {
          value = cell(names[f], mechanism[m], mechanism[m] ~ /^(none|mean|nndsvd)$/ ? (e == 1 ? "" : "-") : epsilon[e])
          some = some || value != ""; line = line " " value " |"
        }
        if (some) print "| " names[f] " | " mechanism[m] " |" line
      }
  }' "${tables[@]}" | tee "$output/utility.md"
