#!/bin/sh
# Grafana on this machine, beside a running `tidemark up`, until Ctrl-C: both databases as sources, with the dashboards of this
# folder, at http://127.0.0.1:3000/. The user is admin, its password QUESTDB_READONLY_PASSWORD of `tidemark env`. Needs Docker.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
environment=$("$here/../../bin/tidemark" env)
eval "$environment"
postgres=${QUESTDB_PG_URL#postgresql://}
clickhouse=${CLICKHOUSE_URL#http://}
export GF_SERVER_HTTP_ADDR=127.0.0.1
export GF_SECURITY_ADMIN_PASSWORD="$QUESTDB_READONLY_PASSWORD"
export GF_PLUGINS_PREINSTALL_SYNC=grafana-clickhouse-datasource@4.20.0
export PROMETHEUS_URL="${PROMETHEUS_URL:-http://127.0.0.1:9090}"
export QUESTDB_PG_ADDRESS="${postgres%/qdb}"
export QUESTDB_PG_USER="$QUESTDB_READONLY_USER"
export QUESTDB_PG_PASSWORD="$QUESTDB_READONLY_PASSWORD"
export CLICKHOUSE_HOST="${clickhouse%:*}"
export CLICKHOUSE_HTTP_PORT="${clickhouse##*:}"
export CLICKHOUSE_USER="$CLICKHOUSE_READONLY_USER"
export CLICKHOUSE_PASSWORD="$CLICKHOUSE_READONLY_PASSWORD"
# By name alone: the values are in no argument that other users of the machine can read.
exec docker run --rm --network host \
  -v "$here/provisioning:/etc/grafana/provisioning:ro" -v "$here/dashboards:/var/lib/grafana/dashboards:ro" \
  -e GF_SERVER_HTTP_ADDR -e GF_SECURITY_ADMIN_PASSWORD -e GF_PLUGINS_PREINSTALL_SYNC -e PROMETHEUS_URL \
  -e QUESTDB_PG_ADDRESS -e QUESTDB_PG_USER -e QUESTDB_PG_PASSWORD \
  -e CLICKHOUSE_HOST -e CLICKHOUSE_HTTP_PORT -e CLICKHOUSE_USER -e CLICKHOUSE_PASSWORD \
  grafana/grafana:13.2.3
