#!/usr/bin/env bash
# check.sh COMPILER FILE EXPECTED_ERROR FLAGS...: checks that FILE compiles without
# -DMUST_NOT_COMPILE, and that it does not compile with it, for the expected reason.
set -u
compiler=$1 file=$2 expected=$3
shift 3
if ! errors=$("$compiler" "$@" "$file" 2>&1); then
  printf 'the twin does not compile:\n%s\n' "$errors"
  exit 1
fi
if errors=$("$compiler" -DMUST_NOT_COMPILE "$@" "$file" 2>&1); then
  echo "it compiles, and must not"
  exit 1
fi
if ! grep -Eq "error: .*($expected)" <<<"$errors"; then
  printf 'it fails for another reason than "%s":\n%s\n' "$expected" "$errors"
  exit 1
fi
