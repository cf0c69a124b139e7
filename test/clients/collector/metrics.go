package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"strconv"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// specialOf is a double of each kind in turn.
func specialOf(number int) float64 {
	special := []float64{float64(number) + 0.1, math.Inf(1), math.Inf(-1), math.NaN(), -1e21, 1e-7, math.MaxFloat64, 0}
	return special[number/10%len(special)]
}

func fillExemplars(exemplars pmetric.ExemplarSlice, number int) {
	for index := range number % 3 {
		exemplar := exemplars.AppendEmpty()
		exemplar.SetTimestamp(pcommon.NewTimestampFromTime(time.Now().Add(-time.Duration(index))))
		if index == 0 {
			exemplar.SetIntValue(math.MaxInt64 - int64(number))
			exemplar.SetTraceID(traceID(number))
			exemplar.SetSpanID(spanID(number))
		} else {
			exemplar.SetDoubleValue(float64(number) - 0.5)
		}
		exemplar.FilteredAttributes().PutStr("filtered", "é")
	}
}

func fillNumber(point pmetric.NumberDataPoint, number int) {
	switch number / 10 % 3 {
	case 0:
		point.SetIntValue(math.MinInt64 + int64(number))
	case 1:
		point.SetDoubleValue(specialOf(number))
	default:
		// Without a value.
		point.SetFlags(pmetric.DefaultDataPointFlags.WithNoRecordedValue(true))
	}
	fillExemplars(point.Exemplars(), number)
}

func fillHistogram(point pmetric.HistogramDataPoint, number int) {
	point.SetCount(math.MaxUint64 - uint64(number))
	if number/10%2 == 0 {
		point.SetSum(specialOf(number))
		point.SetMin(-1.5)
		point.SetMax(float64(number))
		point.ExplicitBounds().FromRaw([]float64{-10, 0, 0.5, 1e9})
		point.BucketCounts().FromRaw([]uint64{0, 1, uint64(number), 0, math.MaxUint64})
	}
	fillExemplars(point.Exemplars(), number)
}

func fillExponential(point pmetric.ExponentialHistogramDataPoint, number int) {
	point.SetCount(uint64(number))
	point.SetScale(int32(number%30) - 10)
	point.SetZeroCount(uint64(number))
	point.SetZeroThreshold(0.001)
	point.Positive().SetOffset(-int32(number))
	point.Positive().BucketCounts().FromRaw([]uint64{1, 0, math.MaxUint64 - uint64(number)})
	if number/10%2 == 0 {
		point.SetSum(-7.5)
		point.SetMax(0)
		point.Negative().SetOffset(int32(number))
		point.Negative().BucketCounts().FromRaw([]uint64{2})
	}
	fillExemplars(point.Exemplars(), number)
}

func fillSummary(point pmetric.SummaryDataPoint, number int) {
	point.SetCount(uint64(number))
	point.SetSum(specialOf(number))
	for index := range number % 4 {
		quantile := point.QuantileValues().AppendEmpty()
		quantile.SetQuantile(float64(index) / 3)
		quantile.SetValue(specialOf(number + 10*index))
	}
}

// dataPoint is what all kinds of data points have.
type dataPoint interface {
	Attributes() pcommon.Map
	SetStartTimestamp(pcommon.Timestamp)
	SetTimestamp(pcommon.Timestamp)
	SetFlags(pmetric.DataPointFlags)
	StartTimestamp() pcommon.Timestamp
	Timestamp() pcommon.Timestamp
	Flags() pmetric.DataPointFlags
}

// fillMetric makes a metric of each kind in turn, with one data point.
func fillMetric(metric pmetric.Metric, number int) dataPoint {
	temporality := pmetric.AggregationTemporality(number / 10 % 3)
	switch number % 5 {
	case 0:
		point := metric.SetEmptyGauge().DataPoints().AppendEmpty()
		fillNumber(point, number)
		return point
	case 1:
		sum := metric.SetEmptySum()
		sum.SetAggregationTemporality(temporality)
		sum.SetIsMonotonic(number/10%2 == 0)
		point := sum.DataPoints().AppendEmpty()
		fillNumber(point, number)
		return point
	case 2:
		histogram := metric.SetEmptyHistogram()
		histogram.SetAggregationTemporality(temporality)
		point := histogram.DataPoints().AppendEmpty()
		fillHistogram(point, number)
		return point
	case 3:
		histogram := metric.SetEmptyExponentialHistogram()
		histogram.SetAggregationTemporality(temporality)
		point := histogram.DataPoints().AppendEmpty()
		fillExponential(point, number)
		return point
	default:
		point := metric.SetEmptySummary().DataPoints().AppendEmpty()
		fillSummary(point, number)
		return point
	}
}

func fillPoint(metric pmetric.Metric, number int, more int) {
	metric.SetName(fmt.Sprintf("metric %d é", number%13))
	metric.SetDescription(fmt.Sprintf("all \"b\" \\ %d", number%13))
	metric.SetUnit("{order}")
	if number%4 == 0 {
		metric.Metadata().PutStr("prometheus.type", "é")
	}
	point := fillMetric(metric, number)
	now := time.Now()
	point.SetTimestamp(pcommon.NewTimestampFromTime(now))
	// The rest has no start.
	if number%7 != 6 {
		point.SetStartTimestamp(pcommon.NewTimestampFromTime(now.Add(-time.Duration(number) * time.Second)))
	}
	fill(point.Attributes(), number)
	for index := range more {
		point.Attributes().PutInt(fmt.Sprintf("more %d", index), int64(index))
	}
}

// madeMetrics has two resources of two scopes each, and the data points shared out among them.
func madeMetrics(asked batch) pmetric.Metrics {
	metrics := pmetric.NewMetrics()
	scopes := []pmetric.ScopeMetrics{}
	for resource := range 2 {
		of := metrics.ResourceMetrics().AppendEmpty()
		of.SetSchemaUrl(resourceSchema)
		fillResource(of.Resource(), resource)
		for scope := range 2 {
			in := of.ScopeMetrics().AppendEmpty()
			fillScope(in.Scope(), scope)
			in.SetSchemaUrl(scopeSchema)
			scopes = append(scopes, in)
		}
	}
	for offset := range asked.Count {
		more := 0
		if offset == 0 {
			more = asked.Attributes
		}
		fillPoint(scopes[offset%len(scopes)].Metrics().AppendEmpty(), asked.First+offset, more)
	}
	return metrics
}

func startMetrics(ctx context.Context, factory exporter.Factory, config component.Config, settings exporter.Settings) pipeline {
	metrics, err := factory.CreateMetrics(ctx, settings, config)
	if err != nil {
		log.Fatal(err)
	}
	if err := metrics.Start(ctx, componenttest.NewNopHost()); err != nil {
		log.Fatal(err)
	}
	return func(ctx context.Context, asked batch) ([]map[string]any, error) {
		points := madeMetrics(asked)
		rows := rowsOfMetrics(points)
		return rows, metrics.ConsumeMetrics(ctx, points)
	}
}

// double is a value as JSON can say it.
func double(value float64) any {
	switch {
	case math.IsNaN(value):
		return "nan"
	case math.IsInf(value, 1):
		return "inf"
	case math.IsInf(value, -1):
		return "-inf"
	default:
		return value
	}
}

func decimals(values pcommon.UInt64Slice) []string {
	all := []string{}
	for _, each := range values.All() {
		all = append(all, strconv.FormatUint(each, 10))
	}
	return all
}
