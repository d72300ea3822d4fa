#!/usr/bin/env bash
# tests/postgres/run.sh [BUILD_DIR]: the recipes of docs/howto/sql_to_parts.md, word for
# word, against a PostgreSQL 15 of its own; queries and imports that die half-way store
# nothing. Needs root or the user postgres. Last line: N passed, N failed.
set -uo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:-$top/build}" && pwd)
PATH=$build/bin:$PATH
server=/usr/lib/postgresql/15/bin
if [ ! -x $server/initdb ]; then
  echo "NOT RUN: the recipes need postgresql ('deploy/install.sh postgres')"
  exit 0
fi
work=$(mktemp -d)
mkdir "$work/server" "$work/here"
as_postgres() { if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }
importer=
finish() {
  [ -z "$importer" ] || kill -KILL "$importer" 2>/dev/null
  as_postgres $server/pg_ctl -D "$work/server/data" -m immediate stop >/dev/null 2>&1
  rm -rf "$work"
}
trap finish EXIT
passed=0 failed=0
check() { # WHAT COMMAND...
  local what=$1
  shift
  if "$@"; then
    passed=$((passed + 1)) && echo "ok      $what"
  else
    failed=$((failed + 1)) && echo "FAILED  $what" && tail -n 5 "$work/out"
  fi
}

# ---- A cluster without a port, that nobody else sees

if [ "$(id -u)" = 0 ]; then chmod 711 "$work" && chown postgres: "$work/server"; fi
cd "$work/here" || exit 1
{
  as_postgres $server/initdb -D "$work/server/data" -A trust -U postgres --no-sync -E UTF8 --no-locale &&
    as_postgres $server/pg_ctl -D "$work/server/data" -w -l "$work/server/log" start \
      -o "-c listen_addresses='' -c unix_socket_directories='$work/server' -c fsync=off -c max_wal_senders=0 -c wal_level=minimal"
} >"$work/out" 2>&1 || { tail -n 20 "$work/out"; echo "0 passed, 1 failed"; exit 1; }
# A file of habits that would spoil every recipe.
printf '\\pset null NULL\n\\set ON_ERROR_STOP off\n\\timing on\n' >"$work/psqlrc"
export PSQLRC=$work/psqlrc PGHOST=$work/server PGUSER=postgres PGDATABASE=postgres DPNMF_CURATOR_DATA_DIR=$work/data
psql -Xq -v ON_ERROR_STOP=1 >"$work/out" 2>&1 <<'SQL' || { cat "$work/out"; echo "0 passed, 1 failed"; exit 1; }
create table visits as select 'p' || i as patient, i % 7 + 1 as beds, nullif(i % 5, 0) as days
  from generate_series(1, 25000) i;
create table codes as select 'C,' || i as code from generate_series(1, 40) i;
create table bills as select 'p' || i % 300 as patient, 'C,' || i * i % 40 + 1 as code, i % 3 + 1 as n
  from generate_series(1, 30000) i;
create table items as select 'film ' || i as item from generate_series(1, 60) i;
create table ratings as select 'r' || i % 200 as person, 'film ' || i % 59 + 1 as item,
  nullif(i % 6, 0) as rating from generate_series(1, 11000) i;
SQL

recipe() { # NUMBER: its commands
  awk -v wanted="$1" '/^```sh$/ { n++; on = n == wanted; next } /^```$/ { on = 0 } on' "$top/docs/howto/sql_to_parts.md"
}
says() { grep -qF -- "$1" "$work/out"; }
stored() { # NAME: users and features of the data set, "-" if there is none
  sed -nE 's/^  "(features|users)": ([0-9]+),$/\2/p' "$DPNMF_CURATOR_DATA_DIR/datasets/$1/dataset.json" 2>/dev/null |
    tr '\n' ' ' | grep . || echo -
}
is() { [ "$(eval "$1")" = "$2" ]; }

# ---- The recipes: features and users as the database has them

check "a row for each person" eval 'bash -c "$(recipe 1)" >"$work/out" 2>&1'
check "... gives its people and features" is 'stored visits' '2 25000 '
check "... and NULL is what the query says" says 'person 5: 6 0 (sum 6)'
check "a row for each person and code" eval 'bash -c "$(recipe 2)" >"$work/out" 2>&1'
check "... gives the declared ones" is 'stored bills' '40 300 '
bash -c "$(recipe 2 | sed 's/from codes/from gone/')" >"$work/out" 2>&1
check "without its list nothing is imported" eval 'says "\"gone\" does not exist" && ! says dpnmf-curator'
check "ratings" eval 'bash -c "$(recipe 3)" >"$work/out" 2>&1'
check "... give the declared ones" is 'stored films' '60 200 '

# ---- A query that dies after most of its rows

import=(dpnmf-curator import --input - --format-in csv --users rows --id-column 1 --population patients
  --epsilon 2 --delta 1e-6 --name)
into() { "${import[@]}" "$@" >"$work/out" 2>&1; } # NAME FLAG...
rows() { # EXPRESSION
  psql -X --csv -v FETCH_COUNT=1000 -c "select i as patient, $1 as beds, i % 9 as days
    from generate_series(1, 25000) i" 2>"$work/psql"
}
zero='1 + 0 * (1 / (i - 20000))'
gone='case when i = 20000 then pg_terminate_backend(pg_backend_pid())::int else 1 end'
n=0
for dies in "$zero" "$gone"; do
  for end in '--closing-line END' '--expect-rows 25000'; do
    n=$((n + 1)) code=closing-line-missing
    [ "$end" = '--closing-line END' ] || code=rows-mismatch
    # shellcheck disable=SC2086
    { rows "$dies" && { [ $code = rows-mismatch ] || echo END; }; } | tee "$work/rows" | into "cut$n" $end
    check "rows came before: $(tail -n 1 "$work/psql")" [ "$(wc -l <"$work/rows")" -gt 15000 ]
    check "... and with $end it is refused" says "[$code]"
    check "... and nothing is stored" is "stored cut$n" -
  done
done
rows 1 | into whole --expect-rows "$(psql -XAt -c 'select count(*) from generate_series(1, 25000)')"
check "a query that ends is imported" is 'stored whole' '2 25000 '
rows 'nullif(i % 5, 0)' | into null --expect-rows 25000
check "NULL is refused" eval 'says "[input-not-a-number]" && is "stored null" -'

# ---- An import that dies while rows come

left() { find "$DPNMF_CURATOR_DATA_DIR" -name '.import*'; }
for signal in TERM KILL; do
  mkfifo "$work/pipe"
  "${import[@]}" killed --closing-line END <"$work/pipe" >"$work/out" 2>&1 &
  importer=$!
  exec 9>"$work/pipe"
  rows 1 >&9
  files=$(find "/proc/$importer/fd" -lname "$DPNMF_CURATOR_DATA_DIR/datasets/*deleted*" | wc -l)
  check "the rows wait in the data directory" [ "$files" = 1 ]
  kill "-$signal" "$importer"
  wait "$importer" 2>/dev/null
  ended=$?
  importer=
  exec 9>&-
  rm "$work/pipe"
  if [ $signal = TERM ]; then
    check "SIGTERM is said, and the exit code" eval 'says "[interrupted]" && [ $ended = 130 ]'
  else
    check "SIGKILL kills" [ $ended = 137 ]
  fi
  check "... nothing is stored" is 'stored killed' -
  check "... and nothing is left" is left ''
done
rows 1 | into killed --expect-rows 25000
check "the next import has the name" is 'stored killed' '2 25000 '
check "... and leaves nothing else" is left ''

echo "$passed passed, $failed failed"
[ $failed = 0 ]
