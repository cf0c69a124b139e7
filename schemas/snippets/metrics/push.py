import json
import time
import urllib.error
import urllib.request

body = {
    "data_id": 1500002,
    "access_token": "<token>",
    "data": [
        {
            "metrics": {"cpu_load": 10.5},
            "target": "127.0.0.1",
            "dimension": {"module": "db"},
            "timestamp": int(time.time() * 1000),
        }
    ],
}
request = urllib.request.Request("http://127.0.0.1:10205/v2/push/", json.dumps(body).encode())
try:
    with urllib.request.urlopen(request, timeout=10) as answer:
        print(answer.status, answer.read().decode())
except urllib.error.HTTPError as refused:
    print(refused.code, refused.read().decode())
