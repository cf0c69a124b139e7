import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.metrics.DoubleCounter;
import io.opentelemetry.api.metrics.DoubleHistogram;
import io.opentelemetry.api.metrics.DoubleUpDownCounter;
import io.opentelemetry.api.metrics.LongCounter;
import io.opentelemetry.api.metrics.LongGauge;
import io.opentelemetry.api.metrics.LongHistogram;
import io.opentelemetry.api.metrics.LongUpDownCounter;
import io.opentelemetry.api.metrics.Meter;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.context.Context;
import io.opentelemetry.exporter.otlp.http.metrics.OtlpHttpMetricExporter;
import io.opentelemetry.exporter.otlp.metrics.OtlpGrpcMetricExporter;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.common.export.MemoryMode;
import io.opentelemetry.sdk.metrics.Aggregation;
import io.opentelemetry.sdk.metrics.InstrumentSelector;
import io.opentelemetry.sdk.metrics.InstrumentType;
import io.opentelemetry.sdk.metrics.SdkMeterProvider;
import io.opentelemetry.sdk.metrics.View;
import io.opentelemetry.sdk.metrics.data.AggregationTemporality;
import io.opentelemetry.sdk.metrics.data.MetricData;
import io.opentelemetry.sdk.metrics.export.AggregationTemporalitySelector;
import io.opentelemetry.sdk.metrics.export.MetricExporter;
import io.opentelemetry.sdk.metrics.export.PeriodicMetricReader;
import io.opentelemetry.sdk.resources.Resource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** The SDK of metrics with one exporter. */
final class Metrics implements Client.Sdk {
  /** The exporter, with its results and its data points noted. */
  private static final class Telling implements MetricExporter {
    private final MetricExporter inner;
    private final List<CompletableResultCode> results = new ArrayList<>();
    private final List<Map<String, Object>> rows = new ArrayList<>();

    Telling(MetricExporter inner) {
      this.inner = inner;
    }

    @Override
    public AggregationTemporality getAggregationTemporality(InstrumentType type) {
      return inner.getAggregationTemporality(type);
    }

    @Override
    public MemoryMode getMemoryMode() {
      return inner.getMemoryMode();
    }

    @Override
    public CompletableResultCode export(Collection<MetricData> batch) {
      // At once: the SDK uses what it hands over again.
      batch.forEach(each -> rows.addAll(MetricRows.of(each)));
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

  /** What the callback of an observable instrument reports. */
  private record Observation(int number, Attributes attributes) {}

  private final List<Observation> gauges = new ArrayList<>();
  private final List<Observation> counters = new ArrayList<>();
  private final Telling exporter;
  private final SdkMeterProvider provider;
  private final LongCounter counterInt;
  private final DoubleCounter counterDouble;
  private final LongUpDownCounter upDownInt;
  private final DoubleUpDownCounter upDownDouble;
  private final LongGauge gaugeInt;
  private final DoubleHistogram histogramDouble;
  private final LongHistogram histogramInt;
  private final DoubleHistogram exponential;

  Metrics(String transport) {
    exporter = new Telling(createExporter(transport));
    provider =
        SdkMeterProvider.builder()
            .setResource(Resource.create(Client.RESOURCE, "https://opentelemetry.io/schemas/1.30.0"))
            .registerView(
                InstrumentSelector.builder().setName("exponential.double").build(),
                View.builder().setAggregation(Aggregation.base2ExponentialBucketHistogram(40, 20)).build())
            .registerView(
                InstrumentSelector.builder().setName("histogram.double").build(),
                View.builder().setAttributeFilter(key -> !key.equals("filtered")).build())
            .registerMetricReader(PeriodicMetricReader.builder(exporter).setInterval(Duration.ofHours(1)).build())
            .build();
    Meter meter =
        provider
            .meterBuilder("io.example.java")
            .setInstrumentationVersion("1.2.3")
            .setSchemaUrl("https://opentelemetry.io/schemas/1.31.0")
            .build();
    counterInt = meter.counterBuilder("counter.int").setUnit("{order}").setDescription("orders \"é\"").build();
    counterDouble = meter.counterBuilder("counter.double").ofDoubles().setUnit("s").build();
    upDownInt = meter.upDownCounterBuilder("up_down.int").setDescription("in the queue").build();
    upDownDouble = meter.upDownCounterBuilder("up_down.double").ofDoubles().build();
    gaugeInt = meter.gaugeBuilder("gauge.int").ofLongs().setUnit("Cel").build();
    histogramDouble = meter.histogramBuilder("histogram.double").setUnit("ms").build();
    histogramInt =
        meter
            .histogramBuilder("histogram.int")
            .ofLongs()
            .setExplicitBucketBoundariesAdvice(List.of(0L, 5L, 2500L))
            .build();
    exponential = meter.histogramBuilder("exponential.double").setUnit("By").build();
    meter
        .gaugeBuilder("observable_gauge.double")
        .buildWithCallback(to -> gauges.forEach(each -> to.record(each.number - 0.125, each.attributes)));
    meter
        .counterBuilder("observable_counter.int")
        .buildWithCallback(to -> counters.forEach(each -> to.record((1L << 60) + each.number, each.attributes)));
  }

  private static MetricExporter createExporter(String transport) {
    String endpoint = System.getenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT");
    String[] header = System.getenv("OTEL_EXPORTER_OTLP_METRICS_HEADERS").split("=", 2);
    AggregationTemporalitySelector temporality =
        "delta".equals(System.getenv("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"))
            ? AggregationTemporalitySelector.deltaPreferred()
            : AggregationTemporalitySelector.alwaysCumulative();
    return transport.equals("grpc")
        ? OtlpGrpcMetricExporter.builder()
            .setEndpoint(endpoint)
            .addHeader(header[0], header[1])
            .setAggregationTemporalitySelector(temporality)
            .build()
        : OtlpHttpMetricExporter.builder()
            .setEndpoint(endpoint)
            .addHeader(header[0], header[1])
            .setAggregationTemporalitySelector(temporality)
            .build();
  }

  /** The sampled span that a measurement belongs to; every third has none, and so no exemplar. */
  private static Context contextOf(int number) {
    if (number % 3 == 0) {
      return Context.root();
    }
    String traceId = String.format("%032x", number / 5 + 1);
    String spanId = String.format("%016x", (1L << 62) + number);
    SpanContext span = SpanContext.create(traceId, spanId, TraceFlags.getSampled(), TraceState.getDefault());
    return Context.root().with(Span.wrap(span));
  }

  @Override
  public void make(int number, int more) {
    Context context = contextOf(number);
    Attributes attributes = Shapes.attributesOf(number, more);
    switch (number % 10) {
      case 0 -> {
        counterInt.add(number, attributes, context);
        counterInt.add((1L << 60) + 1, attributes, context);
      }
      case 1 -> counterDouble.add(number + 0.1, attributes, context);
      case 2 -> upDownInt.add(-(1L << 60) - number, attributes, context);
      case 3 -> upDownDouble.add(-number - 0.5, attributes, context);
      case 4 -> gauges.add(new Observation(number, attributes));
      case 5 -> gaugeInt.set(-number, attributes, context);
      case 6 -> {
        Attributes all = attributes.toBuilder().put(AttributeKey.stringKey("filtered"), "é").build();
        for (double value : new double[] {number, 0.5, 3, 7e5}) {
          histogramDouble.record(value, all, context);
        }
      }
      case 7 -> {
        histogramInt.record(number, attributes, context);
        histogramInt.record(3, attributes, context);
      }
      case 8 -> {
        for (double value : new double[] {number + 1, 0, 1000.5}) {
          exponential.record(value, attributes, context);
        }
      }
      default -> counters.add(new Observation(number, attributes));
    }
  }

  @Override
  public boolean export() {
    exporter.results.clear();
    exporter.rows.clear();
    provider.forceFlush().join(2, TimeUnit.MINUTES);
    return exporter.succeeded();
  }

  @Override
  public List<Map<String, Object>> rows() {
    return List.copyOf(exporter.rows);
  }
}
