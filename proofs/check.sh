#!/usr/bin/env bash
# proofs/check.sh [--slow]: compiles the proofs, and the lines of
# tests/golden/privacy_lines.csv as lemmas; checks that nothing is assumed beyond
# what is listed below; then plants each error of planted.txt and checks that Coq
# rejects it. --slow: all epsilons instead of a few.
# Needs coq, libcoq-coquelicot and libcoq-interval: deploy/install.sh proofs.
set -euo pipefail
proofs=$(cd "$(dirname "$0")" && pwd)
golden=$proofs/../tests/golden
most=2
case "${1:-}" in
  "") ;;
  --slow) most=0 ;;
  *) sed -n '2,6p' "$0" >&2; exit 2 ;;
esac
fail() { echo "proofs/check.sh: $*" >&2; exit 1; }

command -v coqc >/dev/null || fail "NOT RUN: there is no coqc. Install it: deploy/install.sh proofs"
for library in Coquelicot Interval; do
  [ -d "$(coqc -where)/user-contrib/$library" ] ||
    fail "NOT RUN: Coq has no library $library. Install it: deploy/install.sh proofs"
done

build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT

compile() { # FILE, in the current folder
  coqc -q -w -ambiguous-paths -R . dpnmf "$1"
}

# Ways to state something without a proof, and to switch off the kernel's checks.
words='Admitted|admit|give_up|Axioms?|Parameters?|Hypothes[ie]s|Variables?|Conjecture|Declare|bypass_check|Guard Checking|Positivity|Universe Checking|type_in_type|Load|ML Module|Primitive|Abort'
check_words() { # FILE...
  ! grep -nEw "$words" "$@" /dev/null >&2
}

# Reads the output of Assumptions.v: the first block has no axiom; the second has
# those of the real numbers; the third has those and primitive integers.
check_assumptions() {
  awk '
    /^Closed under/ { block++; next }
    /^Axioms:/      { block++; open[block] = 1; next }
    /^[^ ]/ {
      name = $1
      reals = name ~ /^(ClassicalDedekindReals\.sig_(not_dec|forall_dec)|FunctionalExtensionality\.functional_extensionality_dep|Classical_Prop\.classic)$/
      integers = name ~ /^(PrimInt63|Uint63)\./
      if (!(block >= 2 && reals || block == 3 && integers)) { print "assumed: " name; bad = 1 }
    }
    END { if (open[1] || block != 3) { print block " blocks"; bad = 1 }; exit bad }' >&2
}

cp "$proofs"/*.v "$build"
python3 "$proofs/make_values.py" "$golden" "$build" "$most"
cd "$build"
check_words ./*.v || fail "a word that stands for a missing proof"
for name in Sums Sensitivity Plan Charge ProgramCheck ProgramValues Gaussian Bound EpsilonValues; do
  compile "$name.v" || fail "$name.v does not hold"
done
compile Assumptions.v >assumptions || fail "Assumptions.v does not compile"
check_assumptions <assumptions || fail "a theorem rests on more than is allowed"
echo "all proofs hold, with $(grep -c '^Lemma' EpsilonValues.v) epsilons ($SECONDS s)"

# ------------------------------------------------------------- planted errors
planted=0
reject() { # FILE THEOREM, of the current folder: Coq must stop in the theorem
  local file=$1 theorem=$2 line at
  if compile "$file" >rejected 2>&1; then fail "not rejected: $planted_error"; fi
  line=$(sed -n 's/^File ".*", line \([0-9]*\),.*/\1/p' rejected | tail -1)
  at=$(awk -v line="${line:-0}" 'NR > line { exit }
    /^(Theorem|Lemma) / { name = $2 } END { print name }' "$file")
  # shellcheck disable=SC2053
  [[ $at == $theorem ]] || { cat rejected >&2; fail "rejected in ${at:-no theorem}, not in $theorem: $planted_error"; }
  planted=$((planted + 1))
}
plant() { # FILE COMMAND: a copy of all, with the error
  rm -rf planted
  mkdir planted
  # The caches hold certificates of what was proved above, which Coq checks again.
  cp ./*.v ./*.vo ./.*.cache "$golden"/*.csv "$golden"/*.json planted
  sed -i "$2" "planted/$1"
  local original=$proofs/$1
  [ -f "$original" ] || original=$golden/$1
  ! cmp -s "planted/$1" "$original" || fail "changes nothing: $planted_error"
}
while IFS='|' read -r file theorem command; do
  file=${file// /} theorem=${theorem// /} command=${command# }
  case "$file" in '' | '#'*) continue ;; esac
  planted_error="$file: $command"
  plant "$file" "$command"
  cd planted
  if [ "$file" = privacy_lines.csv ]; then
    python3 "$proofs/make_values.py" . . 1
    file=ProgramValues.v
  fi
  reject "$file" "$theorem"
  cd ..
done <"$proofs/planted.txt"

# An epsilon that is 9e-12 too small: Coq would search for long, and must not find.
planted_error="an epsilon that is too small"
cat >TooSmall.v <<'COQ'
From dpnmf Require Import Bound.
Open Scope R_scope.
(* T = 2, sigma = 1.0 Delta: the golden value is 7.2860809664186076594. *)
Lemma holds : delta (sqrt 2) 7.28608096642589 <= (4722366482869645 * powerRZ 2 (-72)).
Proof. Timeout 60 above 6. Qed.
Lemma too_small : delta (sqrt 2) 7.28608096640960 <= (4722366482869645 * powerRZ 2 (-72)).
Proof. Timeout 10 above 6. Qed.
COQ
reject TooSmall.v too_small

# Proofs that are none, and axioms.
for statement in 'Theorem no : False. Proof. Admitted.' 'Axiom no : False.' 'Section S. Variable no : False. End S.'; do
  planted_error=$statement
  echo "$statement" >no.v
  if check_words no.v 2>/dev/null; then fail "not rejected: $statement"; fi
  planted=$((planted + 1))
done
planted_error="an axiom under a theorem"
if sed '1,/^Axioms:/ s/^Closed under.*/Axioms:\nno : False/' assumptions | check_assumptions 2>/dev/null; then
  fail "not rejected: $planted_error"
fi
planted=$((planted + 1))
echo "$planted planted errors are rejected ($SECONDS s)"
