import logging

from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.sdk._logs import LoggerProvider, LoggingHandler
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource

exporter = OTLPLogExporter(endpoint="http://127.0.0.1:4318/v1/logs", headers={"X-MON-TOKEN": "<token>"})
provider = LoggerProvider(resource=Resource.create({"service.name": "shop"}))
provider.add_log_record_processor(BatchLogRecordProcessor(exporter))
logging.getLogger().addHandler(LoggingHandler(logger_provider=provider))
logging.getLogger().addHandler(logging.StreamHandler())

logging.getLogger("shop").warning("the order is late")
provider.shutdown()
