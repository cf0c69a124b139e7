import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.sdk.common.InstrumentationScopeInfo;
import io.opentelemetry.sdk.logs.data.LogRecordData;
import java.util.LinkedHashMap;
import java.util.Map;

/** A log record of the SDK as its row shows it. */
final class LogRows {
  private LogRows() {}

  private static String textOf(String text) {
    return text == null ? "" : text;
  }

  static Map<String, Object> of(LogRecordData record) {
    Map<String, Object> row = new LinkedHashMap<>();
    long observed = record.getObservedTimestampEpochNanos();
    long at = record.getTimestampEpochNanos() == 0 ? observed : record.getTimestampEpochNanos();
    SpanContext span = record.getSpanContext();
    InstrumentationScopeInfo scope = record.getInstrumentationScopeInfo();
    row.put("Timestamp", Long.toString(at));
    row.put("ObservedTimestamp", Long.toString(observed));
    row.put("TraceId", span.isValid() ? span.getTraceId() : "");
    row.put("SpanId", span.isValid() ? span.getSpanId() : "");
    row.put("TraceFlags", (int) span.getTraceFlags().asByte());
    row.put("SeverityText", textOf(record.getSeverityText()));
    row.put("SeverityNumber", record.getSeverity().getSeverityNumber());
    row.put("ServiceName", Shapes.serviceOf(record.getResource()));
    row.put("Body", record.getBodyValue() == null ? "" : Shapes.shown(record.getBodyValue()));
    row.put("ResourceSchemaUrl", textOf(record.getResource().getSchemaUrl()));
    row.put("ResourceAttributes", Shapes.shownAll(record.getResource().getAttributes()));
    row.put("ScopeSchemaUrl", textOf(scope.getSchemaUrl()));
    row.put("ScopeName", scope.getName());
    row.put("ScopeVersion", textOf(scope.getVersion()));
    row.put("ScopeAttributes", Shapes.shownAll(scope.getAttributes()));
    row.put("LogAttributes", Shapes.shownAll(record.getAttributes()));
    row.put("EventName", textOf(record.getEventName()));
    return row;
  }
}
