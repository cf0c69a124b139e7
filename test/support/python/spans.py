"""The spans that the OpenTelemetry SDK hands to its exporters, as rows show them."""

from shapes import shown_all


def row_of(span):
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
        "ServiceName": span.resource.attributes["service.name"],
        "ResourceAttributes": shown_all(span.resource.attributes),
        "ScopeName": span.instrumentation_scope.name,
        "ScopeVersion": span.instrumentation_scope.version or "",
        "SpanAttributes": shown_all(span.attributes),
        "StatusCode": span.status.status_code.name.capitalize(),
        "StatusMessage": span.status.description or "",
        "Events.Timestamp": [str(event.timestamp) for event in span.events],
        "Events.Name": [event.name for event in span.events],
        "Events.Attributes": [shown_all(event.attributes) for event in span.events],
        "Links.TraceId": [f"{link.context.trace_id:032x}" for link in span.links],
        "Links.SpanId": [f"{link.context.span_id:016x}" for link in span.links],
        # The exporters do not send the trace state of a link.
        "Links.TraceState": ["" for _ in span.links],
        "Links.Attributes": [shown_all(link.attributes) for link in span.links],
    }
