curl 'http://127.0.0.1:4318/v1/logs' -H 'X-MON-TOKEN: <token>' -H 'Content-Type: application/json' -d '{
  "resourceLogs": [{
    "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]},
    "scopeLogs": [{"logRecords": [{
      "timeUnixNano": "'"$(date +%s)"'000000000", "severityNumber": 13, "severityText": "WARN",
      "body": {"stringValue": "the order is late"}}]}]}]}'
