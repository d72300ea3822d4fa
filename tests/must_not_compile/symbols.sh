#!/usr/bin/env bash
# symbols.sh ANALYST CLIENT CURATOR: no symbol of the curator's in the other two.
set -u
seen() { nm -C "$1" 2>/dev/null | grep -c 'dpnmf::curator::'; }
if [ "$(seen "$3")" -eq 0 ]; then
  echo "the check is blind: the curator shows no symbol of its own"; exit 1
fi
for program in "$1" "$2"; do
  if [ "$(seen "$program")" -ne 0 ]; then
    echo "$program holds symbols of the curator:"
    nm -C "$program" | grep 'dpnmf::curator::' | head
    exit 1
  fi
done
