#!/usr/bin/env bash
# deploy/python.sh [DIR]: makes a virtual environment in DIR [.venv] with the Python
# package dpnmf, built from this tree without a network. Installs missing Debian
# packages.
set -euo pipefail
case "${1:-}" in -*)
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit 0
  ;;
esac
top=$(cd "$(dirname "$0")/.." && pwd)
venv=${1:-.venv}
"$top/deploy/install.sh" python
/usr/bin/python3 -m venv --system-site-packages "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-index --no-build-isolation --force-reinstall \
  --no-deps "$top/python"
"$venv/bin/python" -c 'import dpnmf, sys; print("dpnmf", dpnmf.__version__, "for", sys.executable)'
