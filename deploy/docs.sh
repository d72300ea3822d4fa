#!/usr/bin/env bash
# deploy/docs.sh [--serve [PORT]]: makes the site of docs/ in build/site and checks it:
# links, anchors, and that no page loads anything from a network. Installs missing Debian
# packages. The pages open without a server (build/site/index.html); --serve shows them,
# with search, at http://127.0.0.1:PORT [8000] until Ctrl-C.
# deploy/docs.sh --commands [BIN_DIR]: writes docs/reference/commands.md from the help of
# the programs in BIN_DIR [build/bin].
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
page=$top/docs/reference/commands.md
serve=
case "${1:-}" in
  '') ;;
  --serve) serve=${2:-8000} ;;
  --commands)
    made=$(mktemp)
    trap 'rm -f "$made"' EXIT
    python3 "$top/tests/docs/commands.py" "${2:-$top/build/bin}" >"$made"
    cp "$made" "$page"
    exit
    ;;
  *)
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
    exit 0
    ;;
esac
"$top/deploy/install.sh" docs
cd "$top"
site=build/site
mkdocs build --quiet --strict --clean --site-dir "$site"
python3 tests/docs/check.py pages
python3 tests/docs/check.py site "$site"
echo "made $site/index.html"
if [ -n "$serve" ]; then
  echo "open http://127.0.0.1:$serve; Ctrl-C ends it"
  exec python3 -m http.server --bind 127.0.0.1 --directory "$site" "$serve"
fi
