#!/bin/sh
# Makes questdb-guard.jar of its source, the same bytes each time: deploy/questdb/build.sh <questdb jar> [<jar to write>]
# Needs the compiler of Java 17 or newer. A test compares.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
javac --release 17 -Xlint:-path -cp "$1" -d "$out" "$here"/src/tidemark/*.java
jar --create --no-manifest --date=1980-01-01T00:00:02Z --file "${2:-$here/questdb-guard.jar}" -C "$out" .
