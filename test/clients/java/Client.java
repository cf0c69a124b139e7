import io.opentelemetry.api.common.Attributes;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Exports spans, log records or data points with the OpenTelemetry SDK and its exporters over HTTP (http/protobuf) or gRPC.
 * Arguments: traces, logs or metrics; http or grpc. Reads batches ({"first": 0, "count": 10, "attributes": 0}) a line and answers
 * each with a line of whether the exporter told of a success and what the SDK held of the items.
 */
final class Client {
  static final Attributes RESOURCE =
      Attributes.builder()
          .put("service.name", "java")
          .put("net.host.ip", "10.1.2.3")
          .put("process.pid", 4711)
          .build();

  /** The SDK of one signal. */
  interface Sdk {
    /** Makes the item with this number, with this many more attributes. */
    void make(int number, int more);

    /** Exports what was made; true when the exporter told of a success alone. */
    boolean export();

    /** What the last export was given. */
    List<Map<String, Object>> rows();
  }

  private Client() {}

  private static int field(String line, String name) {
    Matcher found = Pattern.compile("\"" + name + "\":(\\d+)").matcher(line);
    return found.find() ? Integer.parseInt(found.group(1)) : 0;
  }

  public static void main(String[] args) throws IOException {
    Sdk sdk =
        switch (args[0]) {
          case "logs" -> new Logs(args[1]);
          case "metrics" -> new Metrics(args[1]);
          default -> new Spans(args[1]);
        };
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream output = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      for (int offset = 0; offset < field(line, "count"); offset++) {
        sdk.make(field(line, "first") + offset, offset == 0 ? field(line, "attributes") : 0);
      }
      Map<String, Object> answer = new LinkedHashMap<>();
      answer.put("ok", sdk.export());
      answer.put("rows", sdk.rows());
      output.println(Shapes.json(answer));
    }
    System.exit(0);
  }
}
