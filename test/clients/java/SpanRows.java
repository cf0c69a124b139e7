import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.sdk.trace.data.EventData;
import io.opentelemetry.sdk.trace.data.LinkData;
import io.opentelemetry.sdk.trace.data.SpanData;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A span of the SDK as its row shows it. */
final class SpanRows {
  private SpanRows() {}

  private static String capitalized(Enum<?> value) {
    return value.name().charAt(0) + value.name().substring(1).toLowerCase();
  }

  private static String stateOf(SpanContext context) {
    List<String> entries = new ArrayList<>();
    context.getTraceState().forEach((key, value) -> entries.add(key + "=" + value));
    return String.join(",", entries);
  }

  static Map<String, Object> of(SpanData span) {
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("Timestamp", Long.toString(span.getStartEpochNanos()));
    row.put("Duration", Long.toString(span.getEndEpochNanos() - span.getStartEpochNanos()));
    row.put("TraceId", span.getTraceId());
    row.put("SpanId", span.getSpanId());
    row.put("ParentSpanId", span.getParentSpanContext().isValid() ? span.getParentSpanId() : "");
    row.put("TraceState", stateOf(span.getSpanContext()));
    row.put("SpanName", span.getName());
    row.put("SpanKind", capitalized(span.getKind()));
    row.put("ServiceName", Shapes.serviceOf(span.getResource()));
    row.put("ResourceAttributes", Shapes.shownAll(span.getResource().getAttributes()));
    row.put("ScopeName", span.getInstrumentationScopeInfo().getName());
    String version = span.getInstrumentationScopeInfo().getVersion();
    row.put("ScopeVersion", version == null ? "" : version);
    row.put("SpanAttributes", Shapes.shownAll(span.getAttributes()));
    row.put("StatusCode", capitalized(span.getStatus().getStatusCode()));
    row.put("StatusMessage", span.getStatus().getDescription());
    List<EventData> events = span.getEvents();
    row.put("Events.Timestamp", events.stream().map(each -> Long.toString(each.getEpochNanos())).toList());
    row.put("Events.Name", events.stream().map(EventData::getName).toList());
    row.put("Events.Attributes", events.stream().map(each -> Shapes.shownAll(each.getAttributes())).toList());
    List<LinkData> links = span.getLinks();
    row.put("Links.TraceId", links.stream().map(each -> each.getSpanContext().getTraceId()).toList());
    row.put("Links.SpanId", links.stream().map(each -> each.getSpanContext().getSpanId()).toList());
    row.put("Links.TraceState", links.stream().map(each -> stateOf(each.getSpanContext())).toList());
    row.put("Links.Attributes", links.stream().map(each -> Shapes.shownAll(each.getAttributes())).toList());
    return row;
  }
}
