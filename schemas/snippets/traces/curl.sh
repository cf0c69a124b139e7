curl 'http://127.0.0.1:4318/v1/traces' -H 'X-MON-TOKEN: <token>' -H 'Content-Type: application/json' -d '{
  "resourceSpans": [{
    "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]},
    "scopeSpans": [{"spans": [{
      "traceId": "'"$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"'", "spanId": "'"$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n')"'",
      "name": "order", "kind": 2, "startTimeUnixNano": "'"$(date +%s)"'000000000", "endTimeUnixNano": "'"$(date +%s)"'500000000"}]}]}]}'
