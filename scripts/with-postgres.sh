#!/bin/sh
# Runs a command with a PostgreSQL server of its own: `sh scripts/with-postgres.sh COMMAND…`.
#
# The server is Debian's `postgresql`, installed where it is missing. It listens on the loopback
# address only, keeps everything in a temporary folder, and is stopped and removed when the command
# ends. The command finds the URL of its database in MDBA_TEST_POSTGRES; where that is set before,
# nothing is started. Where no server can be had, this says so in a box that nobody can overlook and
# runs the command without one: its tests of PostgreSQL are skipped and say so too.
#
# The exit code is that of the command. MDBA_POSTGRES_REQUIRED=1 makes a missing server an error.
set -u

[ $# -gt 0 ] || { echo "usage: sh scripts/with-postgres.sh COMMAND [ARGUMENT…]" >&2; exit 2; }
[ -z "${MDBA_TEST_POSTGRES:-}" ] || exec "$@"

without() {
  echo "##########################################################################" >&2
  echo "# NO POSTGRESQL: $1" >&2
  echo "# The tests of PostgreSQL will be SKIPPED. Install PostgreSQL by hand, or" >&2
  echo "# set MDBA_TEST_POSTGRES to the URL of an empty database, such as" >&2
  echo "# postgresql+psycopg2://user@localhost/test" >&2
  echo "##########################################################################" >&2
  [ "${MDBA_POSTGRES_REQUIRED:-0}" = 1 ] && exit 1
  return 0
}

# Debian keeps the server's programs out of the path; the newest version comes last.
find_programs() {
  programs=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
  if [ -z "$programs" ] || [ ! -x "$programs/initdb" ]; then
    programs=$(dirname "$(command -v initdb 2>/dev/null)" 2>/dev/null)
  fi
  [ -x "$programs/initdb" ] && [ -x "$programs/pg_ctl" ]
}

install_server() {
  command -v apt-get >/dev/null 2>&1 || { why="this system has no apt-get."; return 1; }
  if [ "$(id -u)" = 0 ]; then
    as_root=""
  elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root="sudo"
  else
    why="installing needs root, or sudo without a password."
    return 1
  fi
  echo "postgres: installing Debian's postgresql" >&2
  export DEBIAN_FRONTEND=noninteractive
  # Debian starts a server of its own with the package, unless this file says otherwise.
  no_server=/etc/postgresql-common/createcluster.d/mdba-checks.conf
  $as_root mkdir -p "$(dirname $no_server)"
  echo "create_main_cluster = false" | $as_root tee "$no_server" >/dev/null
  $as_root apt-get update -qq \
    && $as_root apt-get install -y -qq --no-install-recommends postgresql >/dev/null
  ended=$?
  $as_root rm -f "$no_server"
  [ $ended = 0 ] || why="apt-get could not install postgresql."
  return $ended
}

# PostgreSQL refuses to run as root.
as_owner() {
  if [ "$(id -u)" = 0 ]; then
    setpriv --reuid postgres --regid postgres --init-groups -- "$@"
  else
    "$@"
  fi
}

start_server() {
  folder=$(mktemp -d) || return 1
  (umask 077; od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >"$folder/password")
  password=$(cat "$folder/password")
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  [ "$(id -u)" != 0 ] || chown -R postgres: "$folder"
  # In a folder that its owner may enter: the one this was called from may be closed to postgres.
  ( cd "$folder" \
    && as_owner "$programs/initdb" -D "$folder/data" -U postgres -A scram-sha-256 \
      --pwfile "$folder/password" -E UTF8 --locale C.UTF-8 --no-sync \
    && as_owner "$programs/pg_ctl" -D "$folder/data" -l "$folder/log" -w -t 60 start \
      -o "-c listen_addresses=127.0.0.1 -c port=$port -c unix_socket_directories= -c fsync=off" \
  ) >"$folder/said" 2>&1
}

stop_server() {
  [ -n "${folder:-}" ] || return 0
  [ ! -f "$folder/data/postmaster.pid" ] || (
    cd "$folder" && as_owner "$programs/pg_ctl" -D "$folder/data" -m immediate -w stop
  ) >/dev/null 2>&1
  rm -rf "$folder"
}

why=""
trap stop_server EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

if find_programs || { install_server && find_programs; }; then
  if start_server; then
    export MDBA_TEST_POSTGRES="postgresql+psycopg2://postgres:$password@127.0.0.1:$port/postgres"
    echo "postgres: $("$programs/postgres" --version), on port $port of this machine" >&2
  else
    tail -n 5 "$folder/said" "$folder/log" >&2 2>/dev/null
    without "the server did not start."
  fi
else
  without "${why:-its programs were not found.}"
fi

"$@"
