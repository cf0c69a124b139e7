#!/bin/sh
# The client of the official image, as far as the documents use it: clickhouse-client --user U --password P --query Q
set -eu
while [ $# -gt 1 ]; do
  case "$1" in
    --user) user=$2 ;;
    --password) password=$2 ;;
    --query) query=$2 ;;
  esac
  shift 2
done
exec wget -q -O - --header "X-ClickHouse-User: $user" --header "X-ClickHouse-Key: $password" --post-data "$query" http://127.0.0.1:8123/
