"""The log records that the OpenTelemetry SDK hands to its exporters, as rows show them."""

from shapes import shown, shown_all


def row_of(readable):
    record = readable.log_record
    scope = readable.instrumentation_scope
    return {
        "Timestamp": str(record.timestamp or record.observed_timestamp),
        "ObservedTimestamp": str(record.observed_timestamp),
        "TraceId": f"{record.trace_id:032x}" if record.trace_id else "",
        "SpanId": f"{record.span_id:016x}" if record.span_id else "",
        "TraceFlags": int(record.trace_flags),
        "SeverityText": record.severity_text or "",
        "SeverityNumber": record.severity_number.value if record.severity_number else 0,
        "ServiceName": readable.resource.attributes["service.name"],
        "Body": "" if record.body is None else shown(record.body),
        "ResourceSchemaUrl": readable.resource.schema_url,
        "ResourceAttributes": shown_all(readable.resource.attributes),
        "ScopeSchemaUrl": scope.schema_url or "",
        "ScopeName": scope.name,
        "ScopeVersion": scope.version or "",
        "ScopeAttributes": shown_all(scope.attributes),
        "LogAttributes": shown_all(record.attributes),
        "EventName": record.event_name or "",
    }
