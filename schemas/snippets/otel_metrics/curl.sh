curl 'http://127.0.0.1:4318/v1/metrics' -H 'X-MON-TOKEN: <token>' -H 'Content-Type: application/json' -d '{
  "resourceMetrics": [{
    "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]},
    "scopeMetrics": [{"metrics": [{
      "name": "orders", "unit": "{order}",
      "sum": {"aggregationTemporality": 1, "isMonotonic": true, "dataPoints": [{
        "startTimeUnixNano": "'"$(($(date +%s) - 60))"'000000000", "timeUnixNano": "'"$(date +%s)"'000000000", "asInt": "1"}]}}]}]}]}'
