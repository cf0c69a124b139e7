#!/bin/sh
# As the official image: root gives the files to the user of the server, and goes on as that user.
set -eu
# Options of Java come first, as in the official image.
# shellcheck disable=SC2086
set -- java ${JVM_PREPEND:-} "$@"
root=/var/lib/questdb
mkdir -p "$root"
if [ "$(id -u)" = 0 ]; then
  chown -R questdb:questdb "$root"
  exec setpriv --reuid questdb --regid questdb --clear-groups "$@"
fi
exec "$@"
