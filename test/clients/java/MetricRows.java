import io.opentelemetry.sdk.common.InstrumentationScopeInfo;
import io.opentelemetry.sdk.metrics.data.AggregationTemporality;
import io.opentelemetry.sdk.metrics.data.DoubleExemplarData;
import io.opentelemetry.sdk.metrics.data.DoublePointData;
import io.opentelemetry.sdk.metrics.data.ExemplarData;
import io.opentelemetry.sdk.metrics.data.ExponentialHistogramPointData;
import io.opentelemetry.sdk.metrics.data.HistogramPointData;
import io.opentelemetry.sdk.metrics.data.LongExemplarData;
import io.opentelemetry.sdk.metrics.data.LongPointData;
import io.opentelemetry.sdk.metrics.data.MetricData;
import io.opentelemetry.sdk.metrics.data.PointData;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The data points of a metric of the SDK as rows show them. */
final class MetricRows {
  private MetricRows() {}

  static List<Map<String, Object>> of(MetricData metric) {
    List<Map<String, Object>> rows = new ArrayList<>();
    for (PointData point : metric.getData().getPoints()) {
      rows.add(rowOf(metric, point));
    }
    return rows;
  }

  private static Map<String, Object> rowOf(MetricData metric, PointData point) {
    Map<String, Object> row = head(metric, point);
    switch (metric.getType()) {
      case LONG_GAUGE, DOUBLE_GAUGE -> putNumber(row, "gauge", point);
      case LONG_SUM -> {
        putNumber(row, "sum", point);
        row.put("IsMonotonic", metric.getLongSumData().isMonotonic());
        row.put("AggregationTemporality", number(metric.getLongSumData().getAggregationTemporality()));
      }
      case DOUBLE_SUM -> {
        putNumber(row, "sum", point);
        row.put("IsMonotonic", metric.getDoubleSumData().isMonotonic());
        row.put("AggregationTemporality", number(metric.getDoubleSumData().getAggregationTemporality()));
      }
      case HISTOGRAM -> {
        putHistogram(row, (HistogramPointData) point);
        row.put("AggregationTemporality", number(metric.getHistogramData().getAggregationTemporality()));
      }
      case EXPONENTIAL_HISTOGRAM -> {
        putExponential(row, (ExponentialHistogramPointData) point);
        row.put(
            "AggregationTemporality", number(metric.getExponentialHistogramData().getAggregationTemporality()));
      }
      default -> throw new IllegalStateException("no rows of " + metric.getType());
    }
    putExemplars(row, point.getExemplars());
    return row;
  }

  private static String textOf(String text) {
    return text == null ? "" : text;
  }

  private static Map<String, Object> head(MetricData metric, PointData point) {
    Map<String, Object> row = new LinkedHashMap<>();
    InstrumentationScopeInfo scope = metric.getInstrumentationScopeInfo();
    row.put("ResourceAttributes", Shapes.shownAll(metric.getResource().getAttributes()));
    row.put("ResourceSchemaUrl", textOf(metric.getResource().getSchemaUrl()));
    row.put("ScopeName", scope.getName());
    row.put("ScopeVersion", textOf(scope.getVersion()));
    row.put("ScopeAttributes", Shapes.shownAll(scope.getAttributes()));
    row.put("ScopeDroppedAttrCount", 0);
    row.put("ScopeSchemaUrl", textOf(scope.getSchemaUrl()));
    row.put("ServiceName", Shapes.serviceOf(metric.getResource()));
    row.put("MetricName", metric.getName());
    row.put("MetricDescription", metric.getDescription());
    row.put("MetricUnit", metric.getUnit());
    row.put("MetricMetadata", Map.of());
    row.put("Attributes", Shapes.shownAll(point.getAttributes()));
    row.put("StartTimeUnix", Long.toString(point.getStartEpochNanos()));
    row.put("TimeUnix", Long.toString(point.getEpochNanos()));
    row.put("Flags", 0);
    return row;
  }

  /** OTLP's number. */
  private static int number(AggregationTemporality temporality) {
    return temporality == AggregationTemporality.DELTA ? 1 : 2;
  }

  private static void putNumber(Map<String, Object> row, String table, PointData point) {
    row.put("Table", table);
    row.put("HasValue", true);
    if (point instanceof LongPointData whole) {
      row.put("Value", (double) whole.getValue());
      row.put("ValueInt", Long.toString(whole.getValue()));
    } else {
      row.put("Value", ((DoublePointData) point).getValue());
      row.put("ValueInt", null);
    }
  }

  private static void putExtremes(Map<String, Object> row, boolean hasMin, double min, boolean hasMax, double max) {
    row.put("HasSum", true);
    row.put("HasMin", hasMin);
    row.put("Min", hasMin ? min : 0);
    row.put("HasMax", hasMax);
    row.put("Max", hasMax ? max : 0);
  }

  private static List<String> decimals(List<Long> counts) {
    return counts.stream().map(each -> Long.toString(each)).toList();
  }

  private static void putHistogram(Map<String, Object> row, HistogramPointData point) {
    row.put("Table", "histogram");
    row.put("Count", Long.toString(point.getCount()));
    row.put("Sum", point.getSum());
    row.put("BucketCounts", decimals(point.getCounts()));
    row.put("ExplicitBounds", List.copyOf(point.getBoundaries()));
    putExtremes(row, point.hasMin(), point.getMin(), point.hasMax(), point.getMax());
  }

  private static void putExponential(Map<String, Object> row, ExponentialHistogramPointData point) {
    row.put("Table", "exponential_histogram");
    row.put("Count", Long.toString(point.getCount()));
    row.put("Sum", point.getSum());
    row.put("Scale", point.getScale());
    row.put("ZeroCount", Long.toString(point.getZeroCount()));
    row.put("ZeroThreshold", 0);
    row.put("PositiveOffset", point.getPositiveBuckets().getOffset());
    row.put("PositiveBucketCounts", decimals(point.getPositiveBuckets().getBucketCounts()));
    row.put("NegativeOffset", point.getNegativeBuckets().getOffset());
    row.put("NegativeBucketCounts", decimals(point.getNegativeBuckets().getBucketCounts()));
    putExtremes(row, point.hasMin(), point.getMin(), point.hasMax(), point.getMax());
  }

  private static void putExemplars(Map<String, Object> row, List<? extends ExemplarData> exemplars) {
    row.put(
        "Exemplars.FilteredAttributes",
        exemplars.stream().map(each -> Shapes.shownAll(each.getFilteredAttributes())).toList());
    row.put("Exemplars.TimeUnix", exemplars.stream().map(each -> Long.toString(each.getEpochNanos())).toList());
    row.put("Exemplars.SpanId", exemplars.stream().map(each -> each.getSpanContext().getSpanId()).toList());
    row.put("Exemplars.TraceId", exemplars.stream().map(each -> each.getSpanContext().getTraceId()).toList());
    List<Object> values = new ArrayList<>();
    List<Object> integers = new ArrayList<>();
    for (ExemplarData each : exemplars) {
      if (each instanceof LongExemplarData whole) {
        values.add((double) whole.getValue());
        integers.add(Long.toString(whole.getValue()));
      } else {
        values.add(((DoubleExemplarData) each).getValue());
        integers.add(null);
      }
    }
    row.put("Exemplars.Value", values);
    row.put("Exemplars.ValueInt", integers);
  }
}
