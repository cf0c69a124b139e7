import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanBuilder;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.exporter.otlp.http.trace.OtlpHttpSpanExporter;
import io.opentelemetry.exporter.otlp.trace.OtlpGrpcSpanExporter;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.resources.Resource;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.SpanLimits;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.BatchSpanProcessor;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** The SDK of spans with one exporter. */
final class Spans implements Client.Sdk {
  private static final SpanKind[] KINDS = {
    SpanKind.INTERNAL, SpanKind.SERVER, SpanKind.CLIENT, SpanKind.PRODUCER, SpanKind.CONSUMER
  };

  /** The exporter, with its results and its spans noted. */
  private static final class Telling implements SpanExporter {
    private final SpanExporter inner;
    private final List<CompletableResultCode> results = new ArrayList<>();
    private final List<SpanData> spans = new ArrayList<>();

    Telling(SpanExporter inner) {
      this.inner = inner;
    }

    @Override
    public CompletableResultCode export(Collection<SpanData> batch) {
      spans.addAll(batch);
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
  private final SdkTracerProvider provider;
  private final Tracer tracer;
  private SpanContext earlier = SpanContext.getInvalid();

  Spans(String transport) {
    exporter = new Telling(createExporter(transport));
    provider =
        SdkTracerProvider.builder()
            .setResource(Resource.create(Client.RESOURCE))
            .setSpanLimits(SpanLimits.builder().setMaxNumberOfAttributes(1000).build())
            .addSpanProcessor(
                BatchSpanProcessor.builder(exporter)
                    .setMaxQueueSize(8192)
                    .setScheduleDelay(Duration.ofHours(1))
                    .setExporterTimeout(Duration.ofMinutes(2))
                    .build())
            .build();
    tracer = provider.tracerBuilder("io.example.java").setInstrumentationVersion("1.2.3").build();
  }

  private static SpanExporter createExporter(String transport) {
    String endpoint = System.getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
    String[] header = System.getenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS").split("=", 2);
    return transport.equals("grpc")
        ? OtlpGrpcSpanExporter.builder().setEndpoint(endpoint).addHeader(header[0], header[1]).build()
        : OtlpHttpSpanExporter.builder().setEndpoint(endpoint).addHeader(header[0], header[1]).build();
  }

  @Override
  public void make(int number, int more) {
    SpanBuilder builder =
        tracer.spanBuilder("operation " + number % 13 + " é值😀").setSpanKind(KINDS[number % 5]);
    if (earlier.isValid() && number % 5 != 0) {
      builder.setParent(Context.root().with(Span.wrap(earlier)));
    } else {
      builder.setNoParent();
    }
    if (earlier.isValid() && number % 7 == 0) {
      TraceState state = TraceState.builder().put("other", "1").put("vendor", "v" + number).build();
      builder.addLink(earlier, Attributes.builder().put("why", "batch").build());
      builder.addLink(
          SpanContext.create(earlier.getTraceId(), earlier.getSpanId(), TraceFlags.getSampled(), state));
    }
    Span span = builder.startSpan();
    span.setAllAttributes(Shapes.attributesOf(number, more));
    for (int index = 0; index < number % 3; index++) {
      span.addEvent("event " + index, Attributes.builder().put("index", index).put("texts", "é", "").build());
    }
    if (number % 11 == 0) {
      span.recordException(new IllegalStateException("no " + number));
    }
    if (number % 3 == 1) {
      span.setStatus(StatusCode.OK);
    }
    if (number % 3 == 2) {
      span.setStatus(StatusCode.ERROR, "failed " + number);
    }
    span.end();
    earlier = span.getSpanContext();
  }

  @Override
  public boolean export() {
    exporter.results.clear();
    exporter.spans.clear();
    provider.forceFlush().join(2, TimeUnit.MINUTES);
    return exporter.succeeded();
  }

  @Override
  public List<Map<String, Object>> rows() {
    return exporter.spans.stream().map(SpanRows::of).toList();
  }
}
