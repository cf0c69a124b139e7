package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"log"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
)

// tellingMetrics is the exporter, with its results and its data points noted.
type tellingMetrics struct {
	sdkmetric.Exporter
	told *told
}

func (t *tellingMetrics) Export(ctx context.Context, metrics *metricdata.ResourceMetrics) error {
	t.told.rows = append(t.told.rows, rowsOfMetrics(metrics)...)
	err := t.Exporter.Export(ctx, metrics)
	t.told.note(err)
	return err
}

// observed is what the callbacks of observable instruments report: every number made so far.
type observed struct{ gauges, counters []observation }

type observation struct {
	number     int
	attributes metric.MeasurementOption
}

// instruments is one instrument for each kind of number.
type instruments struct {
	counterInt      metric.Int64Counter
	counterDouble   metric.Float64Counter
	upDownInt       metric.Int64UpDownCounter
	upDownDouble    metric.Float64UpDownCounter
	gaugeInt        metric.Int64Gauge
	histogramDouble metric.Float64Histogram
	histogramInt    metric.Int64Histogram
	exponential     metric.Float64Histogram
	observed        observed
}

func must[T any](made T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return made
}

func createInstruments(meter metric.Meter) *instruments {
	all := &instruments{
		counterInt:      must(meter.Int64Counter("counter.int", metric.WithUnit("{order}"), metric.WithDescription("orders \"é\""))),
		counterDouble:   must(meter.Float64Counter("counter.double", metric.WithUnit("s"))),
		upDownInt:       must(meter.Int64UpDownCounter("up_down.int", metric.WithDescription("in the queue"))),
		upDownDouble:    must(meter.Float64UpDownCounter("up_down.double")),
		gaugeInt:        must(meter.Int64Gauge("gauge.int", metric.WithUnit("Cel"))),
		histogramDouble: must(meter.Float64Histogram("histogram.double", metric.WithUnit("ms"))),
		histogramInt:    must(meter.Int64Histogram("histogram.int", metric.WithExplicitBucketBoundaries(0, 5, 2.5e3))),
		exponential:     must(meter.Float64Histogram("exponential.double", metric.WithUnit("By"))),
	}
	must(meter.Float64ObservableGauge("observable_gauge.double", metric.WithFloat64Callback(
		func(_ context.Context, observer metric.Float64Observer) error {
			for _, each := range all.observed.gauges {
				observer.Observe(float64(each.number)-0.125, each.attributes)
			}
			return nil
		})))
	must(meter.Int64ObservableCounter("observable_counter.int", metric.WithInt64Callback(
		func(_ context.Context, observer metric.Int64Observer) error {
			for _, each := range all.observed.counters {
				observer.Observe(1<<60+int64(each.number), each.attributes)
			}
			return nil
		})))
	return all
}

// measure makes one data point; every third has no span and so no exemplar.
func (m *instruments) measure(number int, more int) {
	ctx := trace.ContextWithSpanContext(context.Background(), sampledContextOf(number))
	all := attributesOf(number)
	for index := range more {
		all = append(all, attribute.Int(fmt.Sprintf("more %d", index), index))
	}
	attributes := metric.WithAttributes(all...)
	n, x := int64(number), float64(number)
	switch number % 10 {
	case 0:
		m.counterInt.Add(ctx, n, attributes)
		m.counterInt.Add(ctx, 1<<60+1, attributes)
	case 1:
		m.counterDouble.Add(ctx, x+0.1, attributes)
	case 2:
		m.upDownInt.Add(ctx, -1<<60-n, attributes)
	case 3:
		m.upDownDouble.Add(ctx, -x-0.5, attributes)
	case 4:
		m.observed.gauges = append(m.observed.gauges, observation{number, attributes})
	case 5:
		m.gaugeInt.Record(ctx, -n, attributes)
	case 6:
		for _, value := range []float64{x, 0.5, -3, 7e5} {
			m.histogramDouble.Record(ctx, value, attributes, metric.WithAttributes(attribute.String("filtered", "é")))
		}
	case 7:
		m.histogramInt.Record(ctx, n, attributes)
		m.histogramInt.Record(ctx, 3, attributes)
	case 8:
		for _, value := range []float64{x + 1, 0, 1000.5, -20} {
			m.exponential.Record(ctx, value, attributes)
		}
	default:
		m.observed.counters = append(m.observed.counters, observation{number, attributes})
	}
}

func sampledContextOf(number int) trace.SpanContext {
	of := spanContextOf(number)
	if !of.IsValid() {
		return of
	}
	return of.WithTraceFlags(trace.FlagsSampled)
}

func nanosOrNone(at time.Time) string {
	if at.IsZero() {
		return "0"
	}
	return nanos(at)
}

func doubles(values []float64) []float64 { return append([]float64{}, values...) }

func decimals(values []uint64) []string {
	all := []string{}
	for _, each := range values {
		all = append(all, strconv.FormatUint(each, 10))
	}
	return all
}

// integerOf is the text of a 64-bit integer; nil for a double.
func integerOf[N int64 | float64](value N) any {
	if whole, isInteger := any(value).(int64); isInteger {
		return strconv.FormatInt(whole, 10)
	}
	return nil
}

func putExemplars[N int64 | float64](row map[string]any, exemplars []metricdata.Exemplar[N]) {
	attributes, times, values := []map[string]string{}, []string{}, []float64{}
	integers, spans, traces := []any{}, []string{}, []string{}
	for _, each := range exemplars {
		attributes = append(attributes, shownAll(each.FilteredAttributes))
		times = append(times, nanos(each.Time))
		values = append(values, float64(each.Value))
		integers = append(integers, integerOf(each.Value))
		spans = append(spans, hex.EncodeToString(each.SpanID))
		traces = append(traces, hex.EncodeToString(each.TraceID))
	}
	row["Exemplars.FilteredAttributes"] = attributes
	row["Exemplars.TimeUnix"] = times
	row["Exemplars.Value"] = values
	row["Exemplars.ValueInt"] = integers
	row["Exemplars.SpanId"] = spans
	row["Exemplars.TraceId"] = traces
}

// rowMaker starts rows of the data points of one metric.
type rowMaker struct {
	resource *resource.Resource
	scope    metricdata.ScopeMetrics
	metric   metricdata.Metrics
}

func (m rowMaker) row(table string, attributes attribute.Set, start time.Time, at time.Time) map[string]any {
	return map[string]any{
		"Table":                 table,
		"ResourceAttributes":    shownAll(m.resource.Attributes()),
		"ResourceSchemaUrl":     m.resource.SchemaURL(),
		"ScopeName":             m.scope.Scope.Name,
		"ScopeVersion":          m.scope.Scope.Version,
		"ScopeAttributes":       shownAll(m.scope.Scope.Attributes.ToSlice()),
		"ScopeDroppedAttrCount": 0,
		"ScopeSchemaUrl":        m.scope.Scope.SchemaURL,
		"ServiceName":           "go",
		"MetricName":            m.metric.Name,
		"MetricDescription":     m.metric.Description,
		"MetricUnit":            m.metric.Unit,
		"MetricMetadata":        map[string]string{},
		"Attributes":            shownAll(attributes.ToSlice()),
		"StartTimeUnix":         nanosOrNone(start),
		"TimeUnix":              nanos(at),
		"Flags":                 0,
	}
}

// temporalityOf is OTLP's number.
func temporalityOf(temporality metricdata.Temporality) int {
	if temporality == metricdata.DeltaTemporality {
		return 1
	}
	return 2
}

func numbers[N int64 | float64](m rowMaker, table string, points []metricdata.DataPoint[N]) []map[string]any {
	rows := []map[string]any{}
	for _, point := range points {
		row := m.row(table, point.Attributes, point.StartTime, point.Time)
		row["Value"] = float64(point.Value)
		row["ValueInt"] = integerOf(point.Value)
		row["HasValue"] = true
		putExemplars(row, point.Exemplars)
		rows = append(rows, row)
	}
	return rows
}

func sums[N int64 | float64](m rowMaker, sum metricdata.Sum[N]) []map[string]any {
	rows := numbers(m, "sum", sum.DataPoints)
	for _, row := range rows {
		row["AggregationTemporality"] = temporalityOf(sum.Temporality)
		row["IsMonotonic"] = sum.IsMonotonic
	}
	return rows
}

func putExtremes[N int64 | float64](row map[string]any, sum N, min metricdata.Extrema[N], max metricdata.Extrema[N]) {
	least, hasMin := min.Value()
	most, hasMax := max.Value()
	row["Sum"], row["HasSum"] = float64(sum), true
	row["Min"], row["HasMin"] = float64(least), hasMin
	row["Max"], row["HasMax"] = float64(most), hasMax
}

func histograms[N int64 | float64](m rowMaker, histogram metricdata.Histogram[N]) []map[string]any {
	rows := []map[string]any{}
	for _, point := range histogram.DataPoints {
		row := m.row("histogram", point.Attributes, point.StartTime, point.Time)
		row["AggregationTemporality"] = temporalityOf(histogram.Temporality)
		row["Count"] = strconv.FormatUint(point.Count, 10)
		row["BucketCounts"] = decimals(point.BucketCounts)
		row["ExplicitBounds"] = doubles(point.Bounds)
		putExtremes(row, point.Sum, point.Min, point.Max)
		putExemplars(row, point.Exemplars)
		rows = append(rows, row)
	}
	return rows
}

func exponentials(m rowMaker, histogram metricdata.ExponentialHistogram[float64]) []map[string]any {
	rows := []map[string]any{}
	for _, point := range histogram.DataPoints {
		row := m.row("exponential_histogram", point.Attributes, point.StartTime, point.Time)
		row["AggregationTemporality"] = temporalityOf(histogram.Temporality)
		row["Count"] = strconv.FormatUint(point.Count, 10)
		row["Scale"] = point.Scale
		row["ZeroCount"] = strconv.FormatUint(point.ZeroCount, 10)
		row["ZeroThreshold"] = point.ZeroThreshold
		row["PositiveOffset"] = point.PositiveBucket.Offset
		row["PositiveBucketCounts"] = decimals(point.PositiveBucket.Counts)
		row["NegativeOffset"] = point.NegativeBucket.Offset
		row["NegativeBucketCounts"] = decimals(point.NegativeBucket.Counts)
		putExtremes(row, point.Sum, point.Min, point.Max)
		putExemplars(row, point.Exemplars)
		rows = append(rows, row)
	}
	return rows
}

func (m rowMaker) rows() []map[string]any {
	switch data := m.metric.Data.(type) {
	case metricdata.Gauge[int64]:
		return numbers(m, "gauge", data.DataPoints)
	case metricdata.Gauge[float64]:
		return numbers(m, "gauge", data.DataPoints)
	case metricdata.Sum[int64]:
		return sums(m, data)
	case metricdata.Sum[float64]:
		return sums(m, data)
	case metricdata.Histogram[int64]:
		return histograms(m, data)
	case metricdata.Histogram[float64]:
		return histograms(m, data)
	case metricdata.ExponentialHistogram[float64]:
		return exponentials(m, data)
	default:
		log.Fatalf("no rows of %T", data)
		return nil
	}
}

// rowsOfMetrics reads at once: the SDK uses what it hands over again.
func rowsOfMetrics(metrics *metricdata.ResourceMetrics) []map[string]any {
	rows := []map[string]any{}
	for _, scope := range metrics.ScopeMetrics {
		for _, each := range scope.Metrics {
			rows = append(rows, rowMaker{metrics.Resource, scope, each}.rows()...)
		}
	}
	return rows
}

func createMetricExporter(ctx context.Context, transport string) (sdkmetric.Exporter, error) {
	if transport == "grpc" {
		return otlpmetricgrpc.New(ctx)
	}
	return otlpmetrichttp.New(ctx)
}

func startMetrics(ctx context.Context, transport string) (*sdk, error) {
	exporter, err := createMetricExporter(ctx, transport)
	if err != nil {
		return nil, err
	}
	told := &told{}
	provider := sdkmetric.NewMeterProvider(
		sdkmetric.WithReader(sdkmetric.NewPeriodicReader(&tellingMetrics{exporter, told},
			sdkmetric.WithInterval(time.Hour), sdkmetric.WithTimeout(2*time.Minute))),
		sdkmetric.WithView(
			sdkmetric.NewView(sdkmetric.Instrument{Name: "exponential.double"}, sdkmetric.Stream{
				Aggregation: sdkmetric.AggregationBase2ExponentialHistogram{MaxSize: 40, MaxScale: 20}}),
			sdkmetric.NewView(sdkmetric.Instrument{Name: "histogram.double"}, sdkmetric.Stream{
				AttributeFilter: attribute.NewDenyKeysFilter("filtered")})),
		sdkmetric.WithResource(resource.NewWithAttributes("https://opentelemetry.io/schemas/1.30.0", resourceAttributes...)),
	)
	all := createInstruments(provider.Meter("io.example.go", metric.WithInstrumentationVersion("1.2.3"),
		metric.WithSchemaURL("https://opentelemetry.io/schemas/1.31.0"),
		metric.WithInstrumentationAttributes(attribute.String("of", "the scope"), attribute.Int("number", 1))))
	return &sdk{make: all.measure, flush: provider.ForceFlush, told: told}, nil
}
