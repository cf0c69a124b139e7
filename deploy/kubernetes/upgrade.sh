#!/bin/sh
# Installs this version, or brings a cluster to it, in the promised order (docs/operations.md, Upgrade): settings and engines, tables,
# then transfer with metadata, then ingress. Each step waits for the one before it; a step that fails ends the script, and it may be repeated.
#   sh deploy/kubernetes/upgrade.sh deploy/kubernetes/overlays/small
#   sh deploy/kubernetes/upgrade.sh --back deploy/kubernetes/overlays/small     # to the older version of this checkout
# TIMEOUT: how long one step may take, default 15m.
set -eu
is_back=false
if [ "${1:-}" = --back ]; then
  is_back=true
  shift
fi
overlay=${1:?the folder of an overlay, as deploy/kubernetes/overlays/small}
timeout=${TIMEOUT:-15m}

# Objects without a step: settings, policies, engines. What a role runs with changes only with its own step, because names of settings
# come from their content.
kubectl apply -k "$overlay" -l '!tidemark/step'
for engine in $(kubectl -n tidemark get statefulset -o name); do
  kubectl -n tidemark rollout status "$engine" --timeout="$timeout"
done

# Tables only gain columns: the running version goes on with them, and an older one needs no other.
if [ "$is_back" = false ]; then
  # A Job cannot be changed.
  kubectl -n tidemark delete job migrate --ignore-not-found --timeout="$timeout"
  kubectl apply -k "$overlay" -l tidemark/step=migrate
  kubectl -n tidemark wait --for=condition=complete job/migrate --timeout="$timeout"
fi

roll() {
  for role in "$@"; do
    kubectl apply -k "$overlay" -l "tidemark/step=$role"
  done
  for role in "$@"; do
    kubectl -n tidemark rollout status "deployment/$role" --timeout="$timeout"
  done
}

if [ "$is_back" = true ]; then
  roll ingress
  roll metadata
  roll transfer
else
  # Transfer is ready only once metadata has made what NATS lacks: all of it in a new cluster, else the streams that a version brings.
  roll transfer metadata
  roll ingress
fi
