import io.opentelemetry.api.common.KeyValue;
import io.opentelemetry.api.common.Value;
import io.opentelemetry.api.logs.LogRecordBuilder;
import io.opentelemetry.api.logs.Logger;
import io.opentelemetry.api.logs.Severity;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.context.Context;
import io.opentelemetry.exporter.otlp.http.logs.OtlpHttpLogRecordExporter;
import io.opentelemetry.exporter.otlp.logs.OtlpGrpcLogRecordExporter;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.logs.LogLimits;
import io.opentelemetry.sdk.logs.SdkLoggerProvider;
import io.opentelemetry.sdk.logs.data.LogRecordData;
import io.opentelemetry.sdk.logs.export.BatchLogRecordProcessor;
import io.opentelemetry.sdk.logs.export.LogRecordExporter;
import io.opentelemetry.sdk.resources.Resource;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** The SDK of log records with one exporter. */
final class Logs implements Client.Sdk {
  private static final Severity[] SEVERITIES = Severity.values();

  /** The exporter, with its results and its log records noted. */
  private static final class Telling implements LogRecordExporter {
    private final LogRecordExporter inner;
    private final List<CompletableResultCode> results = new ArrayList<>();
    private final List<LogRecordData> records = new ArrayList<>();

    Telling(LogRecordExporter inner) {
      this.inner = inner;
    }

    @Override
    public CompletableResultCode export(Collection<LogRecordData> batch) {
      records.addAll(batch);
      CompletableResultCode result = inner.export(batch);
      results.add(result);
      return result;
    }

    @Override
    public CompletableResultCode flush() {
      return inner.flush();
    }

    @Override
    public CompletableResultCode shutdown() {
      return inner.shutdown();
    }

    boolean succeeded() {
      return !results.isEmpty() && results.stream().allMatch(CompletableResultCode::isSuccess);
    }
  }

  private final Telling exporter;
  private final SdkLoggerProvider provider;
  private final Logger logger;

  Logs(String transport) {
    exporter = new Telling(createExporter(transport));
    provider =
        SdkLoggerProvider.builder()
            .setResource(Resource.create(Client.RESOURCE, "https://opentelemetry.io/schemas/1.30.0"))
            .setLogLimits(() -> LogLimits.builder().setMaxNumberOfAttributes(1000).build())
            .addLogRecordProcessor(
                BatchLogRecordProcessor.builder(exporter)
                    .setMaxQueueSize(8192)
                    .setScheduleDelay(Duration.ofHours(1))
                    .setExporterTimeout(Duration.ofMinutes(2))
                    .build())
            .build();
    logger =
        provider
            .loggerBuilder("io.example.java")
            .setInstrumentationVersion("1.2.3")
            .setSchemaUrl("https://opentelemetry.io/schemas/1.31.0")
            .build();
  }

  private static LogRecordExporter createExporter(String transport) {
    String endpoint = System.getenv("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT");
    String[] header = System.getenv("OTEL_EXPORTER_OTLP_LOGS_HEADERS").split("=", 2);
    return transport.equals("grpc")
        ? OtlpGrpcLogRecordExporter.builder().setEndpoint(endpoint).addHeader(header[0], header[1]).build()
        : OtlpHttpLogRecordExporter.builder().setEndpoint(endpoint).addHeader(header[0], header[1]).build();
  }

  /** A body of each kind in turn; null for none. */
  private static Value<?> bodyOf(int number) {
    return switch (number % 9) {
      case 0 -> Value.of("a \"b\" \\ " + number + "\tline\nnul\0é值😀\u200d\u2028");
      case 1 -> Value.of(-number);
      case 2 -> Value.of(number + 0.25);
      case 3 -> Value.of(number % 2 == 0);
      case 4 -> Value.of(new byte[] {0, (byte) 255, (byte) number});
      case 5 -> Value.of(Value.of(number), Value.of(Value.of("é")));
      case 6 -> Value.of(KeyValue.of("a", Value.of(number)), KeyValue.of("b", Value.of(KeyValue.of("deep", Value.of(true)))));
      case 7 -> Value.of("é".repeat(100 * number));
      default -> null;
    };
  }

  /** The span that a log record belongs to; every third has none. */
  private static Context contextOf(int number) {
    if (number % 3 == 0) {
      return Context.root();
    }
    String traceId = String.format("%032x", number / 5 + 1);
    String spanId = String.format("%016x", (1L << 62) + number);
    TraceFlags flags = TraceFlags.fromByte((byte) (number % 2));
    SpanContext span = SpanContext.create(traceId, spanId, flags, TraceState.getDefault());
    return Context.root().with(Span.wrap(span));
  }

  @Override
  public void make(int number, int more) {
    LogRecordBuilder record =
        logger
            .logRecordBuilder()
            .setContext(contextOf(number))
            .setSeverity(SEVERITIES[number % SEVERITIES.length])
            .setAllAttributes(Shapes.attributesOf(number, more));
    // The rest has the time only at which the SDK observed it.
    if (number % 7 != 6) {
      record.setTimestamp(Instant.now().minusMillis(number));
    }
    if (number % 5 != 0) {
      record.setSeverityText("level " + number % 25 + " é");
    }
    if (number % 4 == 0) {
      record.setEventName("order.placed");
    }
    Value<?> body = bodyOf(number);
    if (body != null) {
      record.setBody(body);
    }
    record.emit();
  }

  @Override
  public boolean export() {
    exporter.results.clear();
    exporter.records.clear();
    provider.forceFlush().join(2, TimeUnit.MINUTES);
    return exporter.succeeded();
  }

  @Override
  public List<Map<String, Object>> rows() {
    return exporter.records.stream().map(LogRows::of).toList();
  }
}
