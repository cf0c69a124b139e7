from opentelemetry import metrics
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource

exporter = OTLPMetricExporter(endpoint="http://127.0.0.1:4318/v1/metrics", headers={"X-MON-TOKEN": "<token>"})
provider = MeterProvider(
    resource=Resource.create({"service.name": "shop"}),
    metric_readers=[PeriodicExportingMetricReader(exporter)],
)
metrics.set_meter_provider(provider)

metrics.get_meter("shop").create_counter("orders", unit="{order}").add(1)
provider.shutdown()
