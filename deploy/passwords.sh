#!/bin/sh
# Makes the passwords of deploy/compose.yaml, once, in deploy/.env: sh deploy/passwords.sh
# Every one is random. Those that are there stay, so it may run again after an upgrade that needs one more.
set -eu
umask 077
folder=$(cd "$(dirname "$0")" && pwd)
file=$folder/.env
touch "$file"
chmod 600 "$file"
# The last line may have no line feed: the first new password would be a part of it.
[ -z "$(tail -c1 "$file")" ] || echo >>"$file"
for name in NATS_INGRESS NATS_TRANSFER NATS_METADATA NATS_OPERATOR QUESTDB QUESTDB_READONLY CLICKHOUSE CLICKHOUSE_READONLY GRAFANA; do
  grep -Eq "^[[:space:]]*(export[[:space:]]+)?${name}_PASSWORD=." "$file" ||
    echo "${name}_PASSWORD=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')" >>"$file"
done
