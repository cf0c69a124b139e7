// Exports spans with the OpenTelemetry SDK and OtlpHttpSpanExporter (http/protobuf) or OtlpGrpcSpanExporter. Argument: http or grpc.
// Reads batches ({"first": 0, "count": 10, "attributes": 0}) a line and answers each with a line of whether the exporter told of a
// success and what the SDK held of the spans.

import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.common.AttributesBuilder;
import io.opentelemetry.api.common.KeyValue;
import io.opentelemetry.api.common.Value;
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
import io.opentelemetry.sdk.trace.data.EventData;
import io.opentelemetry.sdk.trace.data.LinkData;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.BatchSpanProcessor;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

final class Client {
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

  private final Tracer tracer;
  private SpanContext earlier = SpanContext.getInvalid();

  private Client(Tracer tracer) {
    this.tracer = tracer;
  }

  private static Attributes attributesOf(int number, int more) {
    AttributesBuilder shapes =
        Attributes.builder()
            .put("number", number)
            .put("text", "a \"b\" \\ " + number)
            .put("double", number + 0.25)
            .put("largest", Long.MAX_VALUE - number)
            .put("smallest", Long.MIN_VALUE + number)
            .put("bool", number % 2 == 0)
            .put("empty", "")
            .put("control", "tab\tline\nnul\0end")
            .put("unicode", "é值😀\u200d\u2028")
            .put("texts", "a", "é", "")
            .put("integers", number, Long.MIN_VALUE, Long.MAX_VALUE)
            .put("doubles", 1.5, -2.25)
            .put("bools", true, false)
            .put(AttributeKey.stringArrayKey("nothing in it"), List.of())
            .put(AttributeKey.valueKey("bytes"), Value.of(new byte[] {0, (byte) 255, (byte) number}))
            .put(
                AttributeKey.valueKey("nested"),
                Value.of(
                    Value.of(Value.of(1), Value.of(2)),
                    Value.of(Value.of("a"), Value.of(Value.of(true))),
                    Value.of(KeyValue.of("k", Value.of(Value.of(1.5), Value.of("é"))))))
            .put(
                AttributeKey.valueKey("map"),
                Value.of(
                    KeyValue.of("a", Value.of(1)), KeyValue.of("b", Value.of(KeyValue.of("c", Value.of("d"))))));
    if (number % 50 == 0) {
      shapes.put("long", "é".repeat(30_000));
    }
    for (int index = 0; index < more; index++) {
      shapes.put("more " + index, index);
    }
    return shapes.build();
  }

  private void make(int number, int more) {
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
    span.setAllAttributes(attributesOf(number, more));
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

  /** A value as JSON: text, whole numbers, booleans, lists and maps. */
  private static String json(Object value) {
    if (value instanceof Map<?, ?> map) {
      List<String> entries = new ArrayList<>();
      map.forEach((key, item) -> entries.add(json(key) + ":" + json(item)));
      return "{" + String.join(",", entries) + "}";
    }
    if (value instanceof List<?> list) {
      return "[" + String.join(",", list.stream().map(Client::json).toList()) + "]";
    }
    if (!(value instanceof String text)) {
      return String.valueOf(value);
    }
    StringBuilder quoted = new StringBuilder("\"");
    for (char each : text.toCharArray()) {
      switch (each) {
        case '"' -> quoted.append("\\\"");
        case '\\' -> quoted.append("\\\\");
        case '\n' -> quoted.append("\\n");
        case '\r' -> quoted.append("\\r");
        case '\t' -> quoted.append("\\t");
        default -> quoted.append(each < ' ' ? String.format("\\u%04x", (int) each) : String.valueOf(each));
      }
    }
    return quoted.append('"').toString();
  }

  /** What JSON can say of a value; bytes as base64. */
  private static Object plain(Object value) {
    if (value instanceof Value<?> any) {
      return switch (any.getType()) {
        case BYTES -> base64((ByteBuffer) any.getValue());
        case KEY_VALUE_LIST -> {
          Map<String, Object> map = new LinkedHashMap<>();
          for (Object each : (List<?>) any.getValue()) {
            KeyValue entry = (KeyValue) each;
            map.put(entry.getKey(), plain(entry.getValue()));
          }
          yield map;
        }
        default -> plain(any.getValue());
      };
    }
    return value instanceof List<?> list ? list.stream().map(Client::plain).toList() : value;
  }

  private static String base64(ByteBuffer buffer) {
    byte[] bytes = new byte[buffer.remaining()];
    buffer.duplicate().get(bytes);
    return Base64.getEncoder().encodeToString(bytes);
  }

  private static Map<String, String> shownAll(Attributes attributes) {
    Map<String, String> all = new LinkedHashMap<>();
    attributes.forEach(
        (key, value) -> {
          Object plain = plain(value);
          all.put(key.getKey(), plain instanceof String text ? text : json(plain));
        });
    return all;
  }

  private static String capitalized(Enum<?> value) {
    return value.name().charAt(0) + value.name().substring(1).toLowerCase();
  }

  private static String stateOf(SpanContext context) {
    List<String> entries = new ArrayList<>();
    context.getTraceState().forEach((key, value) -> entries.add(key + "=" + value));
    return String.join(",", entries);
  }

  private static Map<String, Object> rowOf(SpanData span) {
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("Timestamp", Long.toString(span.getStartEpochNanos()));
    row.put("Duration", Long.toString(span.getEndEpochNanos() - span.getStartEpochNanos()));
    row.put("TraceId", span.getTraceId());
    row.put("SpanId", span.getSpanId());
    row.put("ParentSpanId", span.getParentSpanContext().isValid() ? span.getParentSpanId() : "");
    row.put("TraceState", stateOf(span.getSpanContext()));
    row.put("SpanName", span.getName());
    row.put("SpanKind", capitalized(span.getKind()));
    row.put("ServiceName", "java");
    row.put("ResourceAttributes", shownAll(span.getResource().getAttributes()));
    row.put("ScopeName", span.getInstrumentationScopeInfo().getName());
    row.put("ScopeVersion", span.getInstrumentationScopeInfo().getVersion());
    row.put("SpanAttributes", shownAll(span.getAttributes()));
    row.put("StatusCode", capitalized(span.getStatus().getStatusCode()));
    row.put("StatusMessage", span.getStatus().getDescription());
    List<EventData> events = span.getEvents();
    row.put("Events.Timestamp", events.stream().map(each -> Long.toString(each.getEpochNanos())).toList());
    row.put("Events.Name", events.stream().map(EventData::getName).toList());
    row.put("Events.Attributes", events.stream().map(each -> shownAll(each.getAttributes())).toList());
    List<LinkData> links = span.getLinks();
    row.put("Links.TraceId", links.stream().map(each -> each.getSpanContext().getTraceId()).toList());
    row.put("Links.SpanId", links.stream().map(each -> each.getSpanContext().getSpanId()).toList());
    row.put("Links.TraceState", links.stream().map(each -> stateOf(each.getSpanContext())).toList());
    row.put("Links.Attributes", links.stream().map(each -> shownAll(each.getAttributes())).toList());
    return row;
  }

  private static int field(String line, String name) {
    Matcher found = Pattern.compile("\"" + name + "\":(\\d+)").matcher(line);
    return found.find() ? Integer.parseInt(found.group(1)) : 0;
  }

  private static SpanExporter createExporter(String transport) {
    String endpoint = System.getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
    String[] header = System.getenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS").split("=", 2);
    return transport.equals("grpc")
        ? OtlpGrpcSpanExporter.builder().setEndpoint(endpoint).addHeader(header[0], header[1]).build()
        : OtlpHttpSpanExporter.builder().setEndpoint(endpoint).addHeader(header[0], header[1]).build();
  }

  public static void main(String[] args) throws IOException {
    Telling exporter = new Telling(createExporter(args[0]));
    Attributes resource =
        Attributes.builder()
            .put("service.name", "java")
            .put("net.host.ip", "10.1.2.3")
            .put("process.pid", 4711)
            .build();
    SdkTracerProvider provider =
        SdkTracerProvider.builder()
            .setResource(Resource.create(resource))
            .setSpanLimits(SpanLimits.builder().setMaxNumberOfAttributes(1000).build())
            .addSpanProcessor(
                BatchSpanProcessor.builder(exporter)
                    .setMaxQueueSize(8192)
                    .setScheduleDelay(Duration.ofHours(1))
                    .setExporterTimeout(Duration.ofMinutes(2))
                    .build())
            .build();
    Client client = new Client(provider.tracerBuilder("io.example.java").setInstrumentationVersion("1.2.3").build());
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream output = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      exporter.results.clear();
      exporter.spans.clear();
      for (int offset = 0; offset < field(line, "count"); offset++) {
        client.make(field(line, "first") + offset, offset == 0 ? field(line, "attributes") : 0);
      }
      provider.forceFlush().join(2, TimeUnit.MINUTES);
      Map<String, Object> answer = new LinkedHashMap<>();
      answer.put("ok", exporter.succeeded());
      answer.put("rows", exporter.spans.stream().map(Client::rowOf).toList());
      output.println(json(answer));
    }
    System.exit(0);
  }
}
