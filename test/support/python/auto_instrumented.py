"""Runs the shop, started by opentelemetry-instrument, and prints what its exporters were given.

Prints one line: for each signal whether every export was a success, and the rows of what the SDK handed over.
"""

import json
from os import environ

if environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") == "http/protobuf":
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
else:
    from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
import data_points
import log_records
import spans
from opentelemetry._logs import get_logger_provider
from opentelemetry.metrics import get_meter_provider
from opentelemetry.trace import get_tracer_provider

told = {name: {"ok": True, "rows": []} for name in ("traces", "logs", "metrics")}


def note(exporter, name, rows_of):
    """Notes what each export was given and how it ended."""
    export = exporter.export

    def telling(self, batch, *args, **kwargs):
        told[name]["rows"].extend(rows_of(batch))
        result = export(self, batch, *args, **kwargs)
        told[name]["ok"] &= result.name == "SUCCESS"
        return result

    exporter.export = telling


note(OTLPSpanExporter, "traces", lambda batch: [spans.row_of(span) for span in batch])
note(OTLPLogExporter, "logs", lambda batch: [log_records.row_of(record) for record in batch])
note(OTLPMetricExporter, "metrics", data_points.rows_of)

import shop  # noqa: E402

shop.run(20)
for provider in (get_tracer_provider(), get_logger_provider(), get_meter_provider()):
    provider.shutdown()
print(json.dumps(told))
