import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.exporter.otlp.http.trace.OtlpHttpSpanExporter;
import io.opentelemetry.sdk.resources.Resource;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.export.BatchSpanProcessor;

public class Spans {
    public static void main(String[] args) {
        OtlpHttpSpanExporter exporter = OtlpHttpSpanExporter.builder()
            .setEndpoint("http://127.0.0.1:4318/v1/traces")
            .addHeader("X-MON-TOKEN", "<token>")
            .build();
        SdkTracerProvider provider = SdkTracerProvider.builder()
            .setResource(Resource.create(Attributes.of(AttributeKey.stringKey("service.name"), "shop")))
            .addSpanProcessor(BatchSpanProcessor.builder(exporter).build())
            .build();

        provider.get("shop").spanBuilder("order").startSpan().end();
        provider.close();
    }
}
