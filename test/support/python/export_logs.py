"""Exports log records with the OpenTelemetry SDK and one of its exporters, which is set up by the SDK's own variables.

Argument: protobuf or json (both over HTTP), or grpc. Reads batches ({"first": 0, "count": 10, "attributes": 0}) a line and answers
each with a line of whether the exporter told of a success and what the SDK held of the log records.
"""

import json
import random
import sys
import time

if sys.argv[1] == "json":
    from opentelemetry.exporter.otlp.json.http._log_exporter import OTLPLogExporter
elif sys.argv[1] == "grpc":
    from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter
else:
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry._logs import SeverityNumber
from opentelemetry.context import Context
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, LogRecordExporter, LogRecordExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context
from log_records import row_of
from shapes import attributes_of

random.seed(7)
severities = list(SeverityNumber)


class Telling(LogRecordExporter):
    """The exporter, with its results and its log records noted."""

    def __init__(self, inner):
        self.inner = inner
        self.results = []
        self.records = []

    def export(self, batch):
        self.records.extend(batch)
        result = self.inner.export(batch)
        self.results.append(result)
        return result

    def shutdown(self):
        self.inner.shutdown()

    def force_flush(self, timeout_millis=30000):
        return self.inner.force_flush(timeout_millis)


exporter = Telling(OTLPLogExporter())
provider = LoggerProvider(
    resource=Resource.create(
        {"service.name": "python", "net.host.ip": "10.1.2.3", "process.pid": 4711},
        "https://opentelemetry.io/schemas/1.30.0",
    ),
)
provider.add_log_record_processor(
    BatchLogRecordProcessor(exporter, max_queue_size=4096, schedule_delay_millis=600_000)
)
logger = provider.get_logger(
    "io.example.python", "1.2.3", "https://opentelemetry.io/schemas/1.31.0", {"of": "the scope", "number": 1}
)


def body_of(number):
    """A body of each kind in turn; the last kind is none."""
    return [
        f"a \"b\" \\ {number}\tline\nnul\0é值😀\u200d\u2028",
        -number,
        number + 0.25,
        number % 2 == 0,
        bytes([0, 255, number % 256]),
        [number, ["é"]],
        {"a": number, "b": {"deep": True}},
        "é" * (100 * number),
        None,
    ][number % 9]


def context_of(number):
    """The span that a log record belongs to; every third has none."""
    if number % 3 == 0:
        return Context()
    context = SpanContext(2**64 * (number // 5 + 1), 2**62 + number, False, TraceFlags(number % 2))
    return set_span_in_context(NonRecordingSpan(context), Context())


def make(number, more):
    now = time.time_ns()
    logger.emit(
        # The rest has the time only at which the SDK observed it.
        timestamp=now - number * 1_000_000 if number % 7 != 6 else None,
        context=context_of(number),
        severity_number=severities[number % len(severities)],
        severity_text=f"level {number} é" if number % 5 != 0 else None,
        body=body_of(number),
        attributes={**attributes_of(number), **{f"more {index}": index for index in range(more)}},
        event_name="order.placed" if number % 4 == 0 else None,
    )


for line in sys.stdin:
    batch = json.loads(line)
    for offset in range(batch["count"]):
        make(batch["first"] + offset, batch.get("attributes", 0) if offset == 0 else 0)
    provider.force_flush(120_000)
    told, exporter.results = exporter.results, []
    held, exporter.records = exporter.records, []
    ok = len(told) > 0 and all(result is LogRecordExportResult.SUCCESS for result in told)
    print(json.dumps({"ok": ok, "rows": [row_of(record) for record in held]}), flush=True)
