curl 'http://127.0.0.1:10205/v2/push/' -d '{
  "data_id": 1500002, "access_token": "<token>",
  "data": [{"metrics": {"cpu_load": 10.5}, "target": "127.0.0.1", "dimension": {"module": "db"}, "timestamp": '"$(date +%s)"'000}]}'
