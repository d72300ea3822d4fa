#!/usr/bin/env bash
# no_shared_code.sh NM OBJECT...: checks that an object compiled for its own
# instruction set defines one table and no symbol that the linker could merge with
# code compiled for another set (weak or unique symbols: inline functions,
# templates).
set -euo pipefail
nm=$1
shift
[ $# -gt 0 ]
for object in "$@"; do
  symbols=$("$nm" --defined-only --extern-only --demangle "$object")
  if [ "$(wc -l <<<"$symbols")" != 1 ] || ! grep -q ' [DR] dpnmf::curator::isa_[a-z0-9]*::kKernels$' <<<"$symbols"; then
    printf '%s shares more than its table:\n%s\n' "$object" "$symbols" >&2
    exit 1
  fi
done
