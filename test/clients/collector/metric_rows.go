package main

import (
	"log"
	"strconv"

	"go.opentelemetry.io/collector/pdata/pmetric"
)

func putExemplars(row map[string]any, exemplars pmetric.ExemplarSlice) {
	attributes, times, values := []map[string]string{}, []string{}, []any{}
	integers, spans, traces := []any{}, []string{}, []string{}
	for _, each := range exemplars.All() {
		attributes = append(attributes, shownAll(each.FilteredAttributes()))
		times = append(times, nanos(each.Timestamp()))
		if each.ValueType() == pmetric.ExemplarValueTypeInt {
			values = append(values, float64(each.IntValue()))
			integers = append(integers, strconv.FormatInt(each.IntValue(), 10))
		} else {
			values = append(values, double(each.DoubleValue()))
			integers = append(integers, nil)
		}
		spanID, traceID := each.SpanID(), each.TraceID()
		spans = append(spans, id(spanID[:]))
		traces = append(traces, id(traceID[:]))
	}
	row["Exemplars.FilteredAttributes"] = attributes
	row["Exemplars.TimeUnix"] = times
	row["Exemplars.Value"] = values
	row["Exemplars.ValueInt"] = integers
	row["Exemplars.SpanId"] = spans
	row["Exemplars.TraceId"] = traces
}

func putNumber(row map[string]any, point pmetric.NumberDataPoint) {
	row["Value"], row["ValueInt"], row["HasValue"] = 0, nil, true
	switch point.ValueType() {
	case pmetric.NumberDataPointValueTypeInt:
		row["Value"] = float64(point.IntValue())
		row["ValueInt"] = strconv.FormatInt(point.IntValue(), 10)
	case pmetric.NumberDataPointValueTypeDouble:
		row["Value"] = double(point.DoubleValue())
	default:
		row["HasValue"] = false
	}
	putExemplars(row, point.Exemplars())
}

// extremes is what both histograms have.
type extremes interface {
	Count() uint64
	HasSum() bool
	Sum() float64
	HasMin() bool
	Min() float64
	HasMax() bool
	Max() float64
	Exemplars() pmetric.ExemplarSlice
}

func putExtremes(row map[string]any, point extremes) {
	row["Count"] = strconv.FormatUint(point.Count(), 10)
	row["Sum"], row["HasSum"] = double(point.Sum()), point.HasSum()
	row["Min"], row["HasMin"] = double(point.Min()), point.HasMin()
	row["Max"], row["HasMax"] = double(point.Max()), point.HasMax()
	putExemplars(row, point.Exemplars())
}

func putHistogram(row map[string]any, point pmetric.HistogramDataPoint) {
	row["BucketCounts"] = decimals(point.BucketCounts())
	row["ExplicitBounds"] = append([]float64{}, point.ExplicitBounds().AsRaw()...)
	putExtremes(row, point)
}

func putExponential(row map[string]any, point pmetric.ExponentialHistogramDataPoint) {
	row["Scale"] = point.Scale()
	row["ZeroCount"] = strconv.FormatUint(point.ZeroCount(), 10)
	row["ZeroThreshold"] = point.ZeroThreshold()
	row["PositiveOffset"] = point.Positive().Offset()
	row["PositiveBucketCounts"] = decimals(point.Positive().BucketCounts())
	row["NegativeOffset"] = point.Negative().Offset()
	row["NegativeBucketCounts"] = decimals(point.Negative().BucketCounts())
	putExtremes(row, point)
}

func putSummary(row map[string]any, point pmetric.SummaryDataPoint) {
	row["Count"] = strconv.FormatUint(point.Count(), 10)
	row["Sum"] = double(point.Sum())
	quantiles, values := []any{}, []any{}
	for _, each := range point.QuantileValues().All() {
		quantiles = append(quantiles, each.Quantile())
		values = append(values, double(each.Value()))
	}
	row["ValueAtQuantiles.Quantile"] = quantiles
	row["ValueAtQuantiles.Value"] = values
}

// rowMaker starts rows of the data points of one metric.
type rowMaker struct {
	resource pmetric.ResourceMetrics
	scope    pmetric.ScopeMetrics
	metric   pmetric.Metric
}

func (m rowMaker) row(table string, point dataPoint) map[string]any {
	service, _ := m.resource.Resource().Attributes().Get("service.name")
	scope := m.scope.Scope()
	return map[string]any{
		"Table":                 table,
		"ResourceAttributes":    shownAll(m.resource.Resource().Attributes()),
		"ResourceSchemaUrl":     m.resource.SchemaUrl(),
		"ScopeName":             scope.Name(),
		"ScopeVersion":          scope.Version(),
		"ScopeAttributes":       shownAll(scope.Attributes()),
		"ScopeDroppedAttrCount": scope.DroppedAttributesCount(),
		"ScopeSchemaUrl":        m.scope.SchemaUrl(),
		"ServiceName":           service.AsString(),
		"MetricName":            m.metric.Name(),
		"MetricDescription":     m.metric.Description(),
		"MetricUnit":            m.metric.Unit(),
		"MetricMetadata":        shownAll(m.metric.Metadata()),
		"Attributes":            shownAll(point.Attributes()),
		"StartTimeUnix":         nanos(point.StartTimestamp()),
		"TimeUnix":              nanos(point.Timestamp()),
		"Flags":                 uint32(point.Flags()),
	}
}

// rowsOfPoints are the rows of one kind: put adds what a row has by its kind.
func rowsOfPoints[P dataPoint](m rowMaker, table string, points func(func(int, P) bool), put func(map[string]any, P)) []map[string]any {
	rows := []map[string]any{}
	points(func(_ int, point P) bool {
		row := m.row(table, point)
		put(row, point)
		rows = append(rows, row)
		return true
	})
	return rows
}

func (m rowMaker) rows() []map[string]any {
	switch m.metric.Type() {
	case pmetric.MetricTypeGauge:
		return rowsOfPoints(m, "gauge", m.metric.Gauge().DataPoints().All(), putNumber)
	case pmetric.MetricTypeSum:
		return m.sums(m.metric.Sum())
	case pmetric.MetricTypeHistogram:
		of := m.metric.Histogram()
		return withTemporality(rowsOfPoints(m, "histogram", of.DataPoints().All(), putHistogram), of.AggregationTemporality())
	case pmetric.MetricTypeExponentialHistogram:
		of := m.metric.ExponentialHistogram()
		rows := rowsOfPoints(m, "exponential_histogram", of.DataPoints().All(), putExponential)
		return withTemporality(rows, of.AggregationTemporality())
	case pmetric.MetricTypeSummary:
		return rowsOfPoints(m, "summary", m.metric.Summary().DataPoints().All(), putSummary)
	default:
		log.Fatalf("no rows of %s", m.metric.Type())
		return nil
	}
}

func (m rowMaker) sums(of pmetric.Sum) []map[string]any {
	rows := rowsOfPoints(m, "sum", of.DataPoints().All(), putNumber)
	for _, row := range rows {
		row["IsMonotonic"] = of.IsMonotonic()
	}
	return withTemporality(rows, of.AggregationTemporality())
}

func withTemporality(rows []map[string]any, temporality pmetric.AggregationTemporality) []map[string]any {
	for _, row := range rows {
		row["AggregationTemporality"] = int(temporality)
	}
	return rows
}

func rowsOfMetrics(metrics pmetric.Metrics) []map[string]any {
	rows := []map[string]any{}
	for _, resource := range metrics.ResourceMetrics().All() {
		for _, scope := range resource.ScopeMetrics().All() {
			for _, metric := range scope.Metrics().All() {
				rows = append(rows, rowMaker{resource, scope, metric}.rows()...)
			}
		}
	}
	return rows
}
