#!/bin/sh
# Options alone are those of the server, as in the official image.
case $1 in
  -*) set -- nats-server "$@" ;;
esac
exec "$@"
