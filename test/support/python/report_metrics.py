"""Reports metrics of a prometheus registry with bk-monitor-report, unchanged, and prints the samples that the registry had.

Reads one line: {"url": …, "data_id": …, "access_token": …, "target": …, "chunk_size": …}. Everything the reporter logs of a
failure goes to standard error, but not what it sent.
"""

import json
import logging
import sys

from bk_monitor_report import MonitorReporter
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

settings = json.loads(sys.stdin.readline())
token = settings["access_token"]


class Redacted(logging.Formatter):
    def format(self, record):
        return super().format(record).replace(token, "<token>")


handler = logging.StreamHandler()
handler.setFormatter(Redacted())
logging.basicConfig(level=logging.INFO, handlers=[handler])

registry = CollectorRegistry()
requests = Counter("shop_requests", "Requests", ["path", "code"], registry=registry)
for number in range(7):
    requests.labels(path=f"/é/{number}", code=str(200 + number)).inc(number + 0.5)
Gauge("shop_temperature", "Degrees", registry=registry).set(-1.25e-7)
latency = Histogram("shop_latency_seconds", "Latency", ["module"], buckets=(0.1, 1), registry=registry)
for seconds in (0.05, 0.5, 5):
    latency.labels(module="db").observe(seconds)

reporter = MonitorReporter(registry=registry, **settings)
reporter.report()
print(
    json.dumps(
        [
            {"name": sample.name, "value": sample.value, "labels": sample.labels}
            for family in registry.collect()
            for sample in family.samples
        ]
    )
)
