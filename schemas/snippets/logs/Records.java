import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.logs.Severity;
import io.opentelemetry.exporter.otlp.http.logs.OtlpHttpLogRecordExporter;
import io.opentelemetry.sdk.logs.SdkLoggerProvider;
import io.opentelemetry.sdk.logs.export.BatchLogRecordProcessor;
import io.opentelemetry.sdk.resources.Resource;

public class Records {
    public static void main(String[] args) {
        OtlpHttpLogRecordExporter exporter = OtlpHttpLogRecordExporter.builder()
            .setEndpoint("http://127.0.0.1:4318/v1/logs")
            .addHeader("X-MON-TOKEN", "<token>")
            .build();
        SdkLoggerProvider provider = SdkLoggerProvider.builder()
            .setResource(Resource.create(Attributes.of(AttributeKey.stringKey("service.name"), "shop")))
            .addLogRecordProcessor(BatchLogRecordProcessor.builder(exporter).build())
            .build();

        provider.get("shop").logRecordBuilder()
            .setSeverity(Severity.WARN).setSeverityText("WARN").setBody("the order is late").emit();
        provider.close();
    }
}
