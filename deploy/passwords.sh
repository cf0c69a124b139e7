#!/bin/sh
# Makes the passwords of deploy/compose.yaml, once, in deploy/.env: sh deploy/passwords.sh
# Every one is random. Those that are there stay, so it may run again after an upgrade that needs one more.
set -eu
umask 077
folder=$(cd "$(dirname "$0")" && pwd)
file=$folder/.env
# A first .env beside a stack that another folder started: the next `up` would take over its containers and volumes.
if [ ! -e "$file" ]; then
  other=$(docker ps --all --filter label=com.docker.compose.project=tidemark \
    --format '{{.Label "com.docker.compose.project.working_dir"}}' 2>/dev/null | sort -u | grep -Fvx "$folder" | head -1) || other=
  if [ -n "$other" ]; then
    echo "passwords.sh: this machine has a stack named tidemark, of $other" >&2
    echo "For that stack copy $other/.env to $file. For a second one first write COMPOSE_PROJECT_NAME=<name> and its ports" >&2
    echo "into $file: docs/operations.md, A second stack on one host" >&2
    exit 1
  fi
fi
[ -e "$file" ] || : >"$file"
# Its owner may share it with a group. Another one of that group may add to it, and not close it.
chmod o= "$file" 2>/dev/null || echo "passwords.sh: $file may be open to others, and only its owner can close it: chmod o= $file" >&2
# The last line may have no line feed: the first new password would be a part of it.
[ -z "$(tail -c1 "$file")" ] || echo >>"$file"
for name in NATS_INGRESS NATS_TRANSFER NATS_METADATA NATS_OPERATOR QUESTDB QUESTDB_READONLY CLICKHOUSE CLICKHOUSE_READONLY GRAFANA; do
  grep -Eq "^[[:space:]]*(export[[:space:]]+)?${name}_PASSWORD=." "$file" ||
    echo "${name}_PASSWORD=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')" >>"$file"
done
