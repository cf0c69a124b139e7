#!/bin/sh
# Waits until a Job has ended; where it has failed, it prints its logs and fails. `kubectl wait` for the one end does not see the other.
# A pod that cannot start does not fail: it says what that one waits for, as an image or a ConfigMap.
#   sh deploy/kubernetes/ended.sh restore-questdb
# POLL: seconds between two looks, default 5.
set -eu
job=${1:?the name of a Job, as restore-questdb}
said=
while :; do
  ended=$(kubectl -n tidemark get job "$job" -o 'jsonpath={.status.conditions[?(@.status=="True")].type}')
  case " $ended " in
    *' Complete '*) exit 0 ;;
    *' Failed '*) break ;;
  esac
  waiting=$(kubectl -n tidemark get pod -l "job-name=$job" -o 'jsonpath={range .items[*].status.initContainerStatuses[*]}{.state.waiting.reason} {.state.waiting.message}{"\n"}{end}{range .items[*].status.containerStatuses[*]}{.state.waiting.reason} {.state.waiting.message}{"\n"}{end}' | grep -vE '^(PodInitializing|ContainerCreating)? ?$' || true)
  if [ "$waiting" != "$said" ]; then
    said=$waiting
    [ -z "$waiting" ] || echo "the Job $job waits: $waiting" >&2
  fi
  sleep "${POLL:-5}"
done
echo "the Job $job has failed: $(kubectl -n tidemark get job "$job" -o 'jsonpath={.status.conditions[?(@.type=="Failed")].message}')" >&2
kubectl -n tidemark logs "job/$job" --all-containers --prefix --tail=50 >&2 || true
exit 1
