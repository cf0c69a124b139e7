#!/bin/sh
# As the official image: root gives the files to the user of the server, and goes on as that user.
set -eu
folder=/var/lib/clickhouse
mkdir -p "$folder"
set -- node /app/test/containers/stand-ins/clickhouse.ts
if [ "$(id -u)" = 0 ]; then
  chown -R clickhouse:clickhouse "$folder"
  exec setpriv --reuid clickhouse --regid clickhouse --clear-groups "$@"
fi
exec "$@"
