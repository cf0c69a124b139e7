"""The data points that the OpenTelemetry SDK hands to its exporters, as rows show them."""

from opentelemetry.sdk.metrics.export import ExponentialHistogram, Gauge, Histogram, Sum
from shapes import shown_all


def double(value):
    """Integers too: the column is a double."""
    return float(value)


def integer(value):
    """A 64-bit integer as text; None for a double."""
    return str(value) if isinstance(value, int) else None


def span_id(identity):
    return f"{identity:016x}" if identity else ""


def trace_id(identity):
    return f"{identity:032x}" if identity else ""


def exemplars(point):
    return {
        "Exemplars.FilteredAttributes": [shown_all(each.filtered_attributes) for each in point.exemplars],
        "Exemplars.TimeUnix": [str(each.time_unix_nano) for each in point.exemplars],
        "Exemplars.Value": [double(each.value) for each in point.exemplars],
        "Exemplars.ValueInt": [integer(each.value) for each in point.exemplars],
        "Exemplars.SpanId": [span_id(each.span_id) for each in point.exemplars],
        "Exemplars.TraceId": [trace_id(each.trace_id) for each in point.exemplars],
    }


def number(point):
    return {"Value": double(point.value), "ValueInt": integer(point.value), "HasValue": True}


def extremes(point):
    return {
        "Sum": double(point.sum),
        "HasSum": True,
        "Min": double(point.min),
        "HasMin": True,
        "Max": double(point.max),
        "HasMax": True,
    }


def histogram(point):
    return {
        "Count": str(point.count),
        "BucketCounts": [str(count) for count in point.bucket_counts],
        "ExplicitBounds": [double(bound) for bound in point.explicit_bounds],
        **extremes(point),
    }


def exponential(point):
    return {
        "Count": str(point.count),
        "Scale": point.scale,
        "ZeroCount": str(point.zero_count),
        "ZeroThreshold": 0,
        "PositiveOffset": point.positive.offset,
        "PositiveBucketCounts": [str(count) for count in point.positive.bucket_counts],
        "NegativeOffset": point.negative.offset,
        "NegativeBucketCounts": [str(count) for count in point.negative.bucket_counts],
        **extremes(point),
    }


def own(data, point):
    """What a row has by the kind of its metric."""
    if isinstance(data, Gauge):
        return {"Table": "gauge", **number(point)}
    temporality = {"AggregationTemporality": int(data.aggregation_temporality)}
    if isinstance(data, Sum):
        return {"Table": "sum", "IsMonotonic": data.is_monotonic, **temporality, **number(point)}
    if isinstance(data, Histogram):
        return {"Table": "histogram", **temporality, **histogram(point)}
    if isinstance(data, ExponentialHistogram):
        return {"Table": "exponential_histogram", **temporality, **exponential(point)}
    raise TypeError(f"no rows of {data}")


def rows_of(metrics_data):
    return [
        {
            "ResourceAttributes": shown_all(of_resource.resource.attributes),
            "ResourceSchemaUrl": of_resource.resource.schema_url,
            "ScopeName": of_scope.scope.name,
            "ScopeVersion": of_scope.scope.version or "",
            "ScopeAttributes": shown_all(of_scope.scope.attributes),
            "ScopeDroppedAttrCount": 0,
            "ScopeSchemaUrl": of_scope.scope.schema_url or "",
            "ServiceName": of_resource.resource.attributes["service.name"],
            "MetricName": metric.name,
            "MetricDescription": metric.description or "",
            "MetricUnit": metric.unit or "",
            "MetricMetadata": {},
            "Attributes": shown_all(point.attributes),
            "StartTimeUnix": str(point.start_time_unix_nano or 0),
            "TimeUnix": str(point.time_unix_nano),
            "Flags": 0,
            **own(metric.data, point),
            **exemplars(point),
        }
        for of_resource in metrics_data.resource_metrics
        for of_scope in of_resource.scope_metrics
        for metric in of_scope.metrics
        for point in metric.data.data_points
    ]
