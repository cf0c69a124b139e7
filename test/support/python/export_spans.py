"""Exports spans with the OpenTelemetry SDK and one of its exporters, which is set up by the SDK's own variables.

Argument: protobuf or json (both over HTTP), or grpc. Reads batches ({"first": 0, "count": 10, "attributes": 0}) a line and answers
each with a line of whether the exporter told of a success and what the SDK held of the spans.
"""

import json
import random
import sys

if sys.argv[1] == "json":
    from opentelemetry.exporter.otlp.json.http.trace_exporter import OTLPSpanExporter
elif sys.argv[1] == "grpc":
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
else:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceState, set_span_in_context
from shapes import attributes_of
from spans import row_of

random.seed(7)  # the SDK makes its ids of it, too


class Telling(SpanExporter):
    """The exporter, with its results noted."""

    def __init__(self, inner):
        self.inner = inner
        self.results = []

    def export(self, spans):
        result = self.inner.export(spans)
        self.results.append(result)
        return result

    def shutdown(self):
        self.inner.shutdown()

    def force_flush(self, timeout_millis=30000):
        return self.inner.force_flush(timeout_millis)


held = InMemorySpanExporter()
exporter = Telling(OTLPSpanExporter())
provider = TracerProvider(
    resource=Resource.create({"service.name": "python", "net.host.ip": "10.1.2.3", "process.pid": 4711}),
)
provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=4096, schedule_delay_millis=600_000))
provider.add_span_processor(SimpleSpanProcessor(held))
tracer = provider.get_tracer("io.example.python", "1.2.3")
kinds = list(SpanKind)
earlier = None


def make(number, more):
    global earlier
    parent = None if earlier is None or number % 5 == 0 else set_span_in_context(earlier)
    links = []
    if earlier is not None and number % 7 == 0:
        context = earlier.get_span_context()
        state = TraceState([("vendor", f"v{number}"), ("other", "1")])
        links.append(Link(context, {"why": "batch"}))
        links.append(Link(SpanContext(context.trace_id, context.span_id, True, trace_state=state)))
    span = tracer.start_span(f"operation {number % 13} é値😀", context=parent, kind=kinds[number % 5], links=links)
    span.set_attributes(attributes_of(number))
    span.set_attributes({f"more {index}": index for index in range(more)})
    for index in range(number % 3):
        span.add_event(f"event {index}", {"index": index, "texts": ["é", ""]})
    if number % 11 == 0:
        span.record_exception(ValueError(f"no {number}"))
    if number % 3 == 1:
        span.set_status(Status(StatusCode.OK))
    if number % 3 == 2:
        span.set_status(Status(StatusCode.ERROR, f"failed {number}"))
    span.end()
    earlier = span


for line in sys.stdin:
    batch = json.loads(line)
    for offset in range(batch["count"]):
        make(batch["first"] + offset, batch.get("attributes", 0) if offset == 0 else 0)
    provider.force_flush(120_000)
    told, exporter.results = exporter.results, []
    rows = [row_of(span) for span in held.get_finished_spans()]
    held.clear()
    ok = len(told) > 0 and all(result is SpanExportResult.SUCCESS for result in told)
    print(json.dumps({"ok": ok, "rows": rows}), flush=True)
