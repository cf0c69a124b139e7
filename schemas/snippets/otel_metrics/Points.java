import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.exporter.otlp.http.metrics.OtlpHttpMetricExporter;
import io.opentelemetry.sdk.metrics.SdkMeterProvider;
import io.opentelemetry.sdk.metrics.export.PeriodicMetricReader;
import io.opentelemetry.sdk.resources.Resource;
import java.util.UUID;

public class Points {
    public static void main(String[] args) {
        OtlpHttpMetricExporter exporter = OtlpHttpMetricExporter.builder()
            .setEndpoint("http://127.0.0.1:4318/v1/metrics")
            .addHeader("X-MON-TOKEN", "<token>")
            .build();
        SdkMeterProvider provider = SdkMeterProvider.builder()
            // The id tells the processes of a service apart.
            .setResource(Resource.create(Attributes.of(
                AttributeKey.stringKey("service.name"), "shop",
                AttributeKey.stringKey("service.instance.id"), UUID.randomUUID().toString())))
            .registerMetricReader(PeriodicMetricReader.builder(exporter).build())
            .build();

        provider.get("shop").counterBuilder("orders").setUnit("{order}").build().add(1);
        provider.close();
    }
}
