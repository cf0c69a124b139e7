import io.opentelemetry.sdk.autoconfigure.spi.AutoConfigurationCustomizer;
import io.opentelemetry.sdk.autoconfigure.spi.AutoConfigurationCustomizerProvider;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.common.export.MemoryMode;
import io.opentelemetry.sdk.logs.data.LogRecordData;
import io.opentelemetry.sdk.logs.export.LogRecordExporter;
import io.opentelemetry.sdk.metrics.Aggregation;
import io.opentelemetry.sdk.metrics.InstrumentType;
import io.opentelemetry.sdk.metrics.data.AggregationTemporality;
import io.opentelemetry.sdk.metrics.data.MetricData;
import io.opentelemetry.sdk.metrics.export.MetricExporter;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * An extension of the Java agent that notes what the agent's exporters are given and how each export ends. When an exporter shuts
 * down it prints a line with its signal, whether every export was a success, and the rows of all.
 */
public final class Twin implements AutoConfigurationCustomizerProvider {
  @Override
  public void customize(AutoConfigurationCustomizer agent) {
    agent.addSpanExporterCustomizer((exporter, config) -> new Spans(exporter));
    agent.addLogRecordExporterCustomizer((exporter, config) -> new LogRecords(exporter));
    agent.addMetricExporterCustomizer((exporter, config) -> new Points(exporter));
  }

  /** What one exporter was given, and its results. */
  private static final class Notes {
    private final String signal;
    private final List<CompletableResultCode> results = new ArrayList<>();
    private final List<Map<String, Object>> rows = new ArrayList<>();

    Notes(String signal) {
      this.signal = signal;
    }

    synchronized CompletableResultCode note(List<Map<String, Object>> given, Supplier<CompletableResultCode> export) {
      rows.addAll(given);
      CompletableResultCode result = export.get();
      results.add(result);
      return result;
    }

    synchronized void print() {
      Map<String, Object> line = new LinkedHashMap<>();
      line.put("signal", signal);
      line.put("ok", results.stream().allMatch(each -> each.join(10, TimeUnit.SECONDS).isSuccess()));
      line.put("rows", rows);
      System.out.println(Shapes.json(line));
    }
  }

  private static final class Spans implements SpanExporter {
    private final SpanExporter inner;
    private final Notes notes = new Notes("traces");

    Spans(SpanExporter inner) {
      this.inner = inner;
    }

    @Override
    public CompletableResultCode export(Collection<SpanData> batch) {
      return notes.note(batch.stream().map(SpanRows::of).toList(), () -> inner.export(batch));
    }

    @Override
    public CompletableResultCode flush() {
      return inner.flush();
    }

    @Override
    public CompletableResultCode shutdown() {
      notes.print();
      return inner.shutdown();
    }
  }

  private static final class LogRecords implements LogRecordExporter {
    private final LogRecordExporter inner;
    private final Notes notes = new Notes("logs");

    LogRecords(LogRecordExporter inner) {
      this.inner = inner;
    }

    @Override
    public CompletableResultCode export(Collection<LogRecordData> batch) {
      return notes.note(batch.stream().map(LogRows::of).toList(), () -> inner.export(batch));
    }

    @Override
    public CompletableResultCode flush() {
      return inner.flush();
    }

    @Override
    public CompletableResultCode shutdown() {
      notes.print();
      return inner.shutdown();
    }
  }

  private static final class Points implements MetricExporter {
    private final MetricExporter inner;
    private final Notes notes = new Notes("metrics");

    Points(MetricExporter inner) {
      this.inner = inner;
    }

    @Override
    public AggregationTemporality getAggregationTemporality(InstrumentType type) {
      return inner.getAggregationTemporality(type);
    }

    @Override
    public Aggregation getDefaultAggregation(InstrumentType type) {
      return inner.getDefaultAggregation(type);
    }

    @Override
    public MemoryMode getMemoryMode() {
      return inner.getMemoryMode();
    }

    @Override
    public CompletableResultCode export(Collection<MetricData> batch) {
      List<Map<String, Object>> rows = batch.stream().flatMap(each -> MetricRows.of(each).stream()).toList();
      return notes.note(rows, () -> inner.export(batch));
    }

    @Override
    public CompletableResultCode flush() {
      return inner.flush();
    }

    @Override
    public CompletableResultCode shutdown() {
      notes.print();
      return inner.shutdown();
    }
  }
}
