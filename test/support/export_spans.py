"""Exports spans with the OpenTelemetry SDK and its HTTP exporter, and prints what the SDK held as JSON, a span a line.

Arguments: URL of the receiver, write token, number of spans, seed, compression (none, gzip or deflate).
"""

import json
import random
import sys

from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Link, SpanKind, Status, StatusCode, set_span_in_context

url, token, count, seed, compression = sys.argv[1:]
random.seed(int(seed))  # the SDK makes its ids of it, too

held = InMemorySpanExporter()
provider = TracerProvider(
    resource=Resource.create(
        {"service.name": "python", "net.host.ip": "10.1.2.3", "process.pid": 4711}
    ),
)
exporter = OTLPSpanExporter(
    endpoint=url, headers={"X-MON-TOKEN": token}, compression=Compression(compression)
)
provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=4096))
provider.add_span_processor(SimpleSpanProcessor(held))
tracer = provider.get_tracer("io.example.python", "1.2.3")

kinds = list(SpanKind)
earlier = None
for number in range(int(count)):
    parent = None if earlier is None or number % 5 == 0 else set_span_in_context(earlier)
    links = [] if earlier is None or number % 7 else [Link(earlier.get_span_context(), {"why": "batch"})]
    span = tracer.start_span(
        f"operation {number % 13} é値😀", context=parent, kind=kinds[number % 5], links=links
    )
    span.set_attributes(
        {
            "number": number,
            "text": f"a \"b\" \\ {random.random()}",
            "double": random.uniform(1, 1000),
            "large": random.randrange(-(2**63), 2**63),
            "bool": number % 2 == 0,
            "texts": ["a", "é", ""],
            "integers": [number, -(2**63), 2**63 - 1],
            "doubles": [1.5, -2.25],
            "bools": [True, False],
        }
    )
    for index in range(number % 3):
        span.add_event(f"event {index}", {"index": index})
    if number % 11 == 0:
        span.record_exception(ValueError(f"no {number}"))
    if number % 3 == 1:
        span.set_status(Status(StatusCode.OK))
    if number % 3 == 2:
        span.set_status(Status(StatusCode.ERROR, f"failed {number}"))
    span.end()
    earlier = span

if not provider.force_flush(60_000):
    sys.exit("the exporter did not finish")


def shown(value):
    """As a row shows it: whole numbers exact, arrays as compact JSON."""
    if isinstance(value, (list, tuple)):
        return json.dumps(list(value), ensure_ascii=False, separators=(",", ":"))
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def shown_all(attributes):
    return {key: shown(value) for key, value in (attributes or {}).items()}


def kept(span):
    context = span.get_span_context()
    return {
        "Timestamp": str(span.start_time),
        "Duration": str(span.end_time - span.start_time),
        "TraceId": f"{context.trace_id:032x}",
        "SpanId": f"{context.span_id:016x}",
        "ParentSpanId": f"{span.parent.span_id:016x}" if span.parent else "",
        "TraceState": context.trace_state.to_header(),
        "SpanName": span.name,
        "SpanKind": span.kind.name.capitalize(),
        "ServiceName": "python",
        "ResourceAttributes": shown_all(span.resource.attributes),
        "ScopeName": span.instrumentation_scope.name,
        "ScopeVersion": span.instrumentation_scope.version,
        "SpanAttributes": shown_all(span.attributes),
        "StatusCode": span.status.status_code.name.capitalize(),
        "StatusMessage": span.status.description or "",
        "Events.Timestamp": [str(event.timestamp) for event in span.events],
        "Events.Name": [event.name for event in span.events],
        "Events.Attributes": [shown_all(event.attributes) for event in span.events],
        "Links.TraceId": [f"{link.context.trace_id:032x}" for link in span.links],
        "Links.SpanId": [f"{link.context.span_id:016x}" for link in span.links],
        "Links.TraceState": [link.context.trace_state.to_header() for link in span.links],
        "Links.Attributes": [shown_all(link.attributes) for link in span.links],
    }


for span in held.get_finished_spans():
    print(json.dumps(kept(span)))
