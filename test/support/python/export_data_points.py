"""Exports data points with the OpenTelemetry SDK and one of its exporters, which is set up by the SDK's own variables.

Argument: protobuf or json (both over HTTP), or grpc. Reads batches ({"first": 0, "count": 10, "attributes": 0}) a line and answers
each with a line of whether the exporter told of a success and what the SDK held of the data points.
"""

import json
import math
import sys

if sys.argv[1] == "json":
    from opentelemetry.exporter.otlp.json.http.metric_exporter import OTLPMetricExporter
elif sys.argv[1] == "grpc":
    from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
else:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.context import Context
from opentelemetry.metrics import Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExporter, MetricExportResult, PeriodicExportingMetricReader
from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation, View
from opentelemetry.sdk.resources import Resource
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context
from data_points import rows_of
from shapes import attributes_of


class Telling(MetricExporter):
    """The exporter, with its results and its data points noted."""

    def __init__(self, inner):
        super().__init__(inner._preferred_temporality, inner._preferred_aggregation)
        self.inner = inner
        self.results = []
        self.rows = []

    def export(self, metrics_data, timeout_millis=10_000, **kwargs):
        self.rows.extend(rows_of(metrics_data))
        result = self.inner.export(metrics_data, timeout_millis=timeout_millis, **kwargs)
        self.results.append(result)
        return result

    def shutdown(self, timeout_millis=30_000, **kwargs):
        self.inner.shutdown(timeout_millis, **kwargs)

    def force_flush(self, timeout_millis=30_000):
        return self.inner.force_flush(timeout_millis)


exporter = Telling(OTLPMetricExporter())
provider = MeterProvider(
    metric_readers=[PeriodicExportingMetricReader(exporter, math.inf, 120_000)],
    resource=Resource.create(
        {"service.name": "python", "net.host.ip": "10.1.2.3", "process.pid": 4711},
        "https://opentelemetry.io/schemas/1.30.0",
    ),
    views=[
        View(
            instrument_name="exponential.double",
            aggregation=ExponentialBucketHistogramAggregation(max_size=40, max_scale=20),
        ),
        View(
            instrument_name="histogram.double",
            attribute_keys={*attributes_of(0), *(f"more {index}" for index in range(1000))},
        ),
    ],
)
meter = provider.get_meter(
    "io.example.python", "1.2.3", "https://opentelemetry.io/schemas/1.31.0", {"of": "the scope", "number": 1}
)

gauges, counters = [], []
counter_int = meter.create_counter("counter.int", "{order}", 'orders "é"')
counter_double = meter.create_counter("counter.double", "s")
up_down_int = meter.create_up_down_counter("up_down.int", description="in the queue")
up_down_double = meter.create_up_down_counter("up_down.double")
gauge_int = meter.create_gauge("gauge.int", "Cel")
histogram_double = meter.create_histogram("histogram.double", "ms")
histogram_int = meter.create_histogram("histogram.int", explicit_bucket_boundaries_advisory=[0, 5, 2.5e3])
exponential = meter.create_histogram("exponential.double", "By")
meter.create_observable_gauge(
    "observable_gauge.double",
    [lambda _: [Observation(number - 0.125, attributes) for number, attributes in gauges]],
)
meter.create_observable_counter(
    "observable_counter.int",
    [lambda _: [Observation(2**60 + number, attributes) for number, attributes in counters]],
)


def context_of(number):
    """The sampled span that a measurement belongs to; every third has none, and so no exemplar."""
    if number % 3 == 0:
        return Context()
    context = SpanContext(2**64 * (number // 5 + 1), 2**62 + number, False, TraceFlags(TraceFlags.SAMPLED))
    return set_span_in_context(NonRecordingSpan(context), Context())


def make(number, more):
    attributes = {**attributes_of(number), **{f"more {index}": index for index in range(more)}}
    context = context_of(number)
    kind = number % 10
    if kind == 0:
        counter_int.add(number, attributes, context)
        counter_int.add(2**60 + 1, attributes, context)
    elif kind == 1:
        counter_double.add(number + 0.1, attributes, context)
    elif kind == 2:
        up_down_int.add(-(2**60) - number, attributes, context)
    elif kind == 3:
        up_down_double.add(-number - 0.5, attributes, context)
    elif kind == 4:
        gauges.append((number, attributes))
    elif kind == 5:
        gauge_int.set(-number, attributes, context)
    elif kind == 6:
        for value in (float(number), 0.5, 3.0, 7e5):
            histogram_double.record(value, {**attributes, "filtered": "é"}, context)
    elif kind == 7:
        histogram_int.record(number, attributes, context)
        histogram_int.record(3, attributes, context)
    elif kind == 8:
        for value in (number + 1.0, 0.0, 1000.5):
            exponential.record(value, attributes, context)
    else:
        counters.append((number, attributes))


for line in sys.stdin:
    batch = json.loads(line)
    for offset in range(batch["count"]):
        make(batch["first"] + offset, batch.get("attributes", 0) if offset == 0 else 0)
    provider.force_flush(120_000)
    told, exporter.results = exporter.results, []
    held, exporter.rows = exporter.rows, []
    ok = len(told) > 0 and all(result is MetricExportResult.SUCCESS for result in told)
    print(json.dumps({"ok": ok, "rows": held}), flush=True)
