#!/bin/sh
# Waits until a Job has ended; where it has failed, it prints its logs and fails. `kubectl wait` for the one end does not see the other.
#   sh deploy/kubernetes/ended.sh restore-questdb
# POLL: seconds between two looks, default 5.
set -eu
job=${1:?the name of a Job, as restore-questdb}
while :; do
  ended=$(kubectl -n tidemark get job "$job" -o 'jsonpath={.status.conditions[?(@.status=="True")].type}')
  case " $ended " in
    *' Complete '*) exit 0 ;;
    *' Failed '*) break ;;
  esac
  sleep "${POLL:-5}"
done
echo "the Job $job has failed: $(kubectl -n tidemark get job "$job" -o 'jsonpath={.status.conditions[?(@.type=="Failed")].message}')" >&2
kubectl -n tidemark logs "job/$job" --all-containers --prefix --tail=50 >&2 || true
exit 1
