import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.common.AttributesBuilder;
import io.opentelemetry.api.common.KeyValue;
import io.opentelemetry.api.common.Value;
import io.opentelemetry.sdk.resources.Resource;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Every shape that an attribute can have, and how a row shows it. */
final class Shapes {
  private Shapes() {}

  static Attributes attributesOf(int number, int more) {
    AttributesBuilder shapes =
        Attributes.builder()
            .put("number", number)
            .put("text", "a \"b\" \\ " + number)
            .put("double", number + 0.25)
            .put("largest", Long.MAX_VALUE - number)
            .put("smallest", Long.MIN_VALUE + number)
            .put("bool", number % 2 == 0)
            .put("empty", "")
            .put("control", "tab\tline\nnul\0end")
            .put("unicode", "é值😀\u200d\u2028")
            .put("texts", "a", "é", "")
            .put("integers", number, Long.MIN_VALUE, Long.MAX_VALUE)
            .put("doubles", 1.5, -2.25)
            .put("bools", true, false)
            .put(AttributeKey.stringArrayKey("nothing in it"), List.of())
            .put(AttributeKey.valueKey("bytes"), Value.of(new byte[] {0, (byte) 255, (byte) number}))
            .put(
                AttributeKey.valueKey("nested"),
                Value.of(
                    Value.of(Value.of(1), Value.of(2)),
                    Value.of(Value.of("a"), Value.of(Value.of(true))),
                    Value.of(KeyValue.of("k", Value.of(Value.of(1.5), Value.of("é"))))))
            .put(
                AttributeKey.valueKey("map"),
                Value.of(
                    KeyValue.of("a", Value.of(1)), KeyValue.of("b", Value.of(KeyValue.of("c", Value.of("d"))))));
    if (number % 50 == 0) {
      shapes.put("long", "é".repeat(30_000));
    }
    for (int index = 0; index < more; index++) {
      shapes.put("more " + index, index);
    }
    return shapes.build();
  }

  /** A value as JSON: text, whole numbers, booleans, lists and maps. */
  static String json(Object value) {
    if (value instanceof Map<?, ?> map) {
      List<String> entries = new ArrayList<>();
      map.forEach((key, item) -> entries.add(json(key) + ":" + json(item)));
      return "{" + String.join(",", entries) + "}";
    }
    if (value instanceof List<?> list) {
      return "[" + String.join(",", list.stream().map(Shapes::json).toList()) + "]";
    }
    if (!(value instanceof String text)) {
      return String.valueOf(value);
    }
    StringBuilder quoted = new StringBuilder("\"");
    for (char each : text.toCharArray()) {
      switch (each) {
        case '"' -> quoted.append("\\\"");
        case '\\' -> quoted.append("\\\\");
        case '\n' -> quoted.append("\\n");
        case '\r' -> quoted.append("\\r");
        case '\t' -> quoted.append("\\t");
        default -> quoted.append(each < ' ' ? String.format("\\u%04x", (int) each) : String.valueOf(each));
      }
    }
    return quoted.append('"').toString();
  }

  /** What JSON can say of a value; bytes as base64. */
  private static Object plain(Object value) {
    if (value instanceof Value<?> any) {
      return switch (any.getType()) {
        case BYTES -> base64((ByteBuffer) any.getValue());
        case KEY_VALUE_LIST -> {
          Map<String, Object> map = new LinkedHashMap<>();
          for (Object each : (List<?>) any.getValue()) {
            KeyValue entry = (KeyValue) each;
            map.put(entry.getKey(), plain(entry.getValue()));
          }
          yield map;
        }
        default -> plain(any.getValue());
      };
    }
    return value instanceof List<?> list ? list.stream().map(Shapes::plain).toList() : value;
  }

  private static String base64(ByteBuffer buffer) {
    byte[] bytes = new byte[buffer.remaining()];
    buffer.duplicate().get(bytes);
    return Base64.getEncoder().encodeToString(bytes);
  }

  /** The name of the service that a resource tells. */
  static String serviceOf(Resource resource) {
    return String.valueOf(resource.getAttribute(AttributeKey.stringKey("service.name")));
  }

  static Map<String, String> shownAll(Attributes attributes) {
    Map<String, String> all = new LinkedHashMap<>();
    attributes.forEach((key, value) -> all.put(key.getKey(), shown(value)));
    return all;
  }

  /** A value as a row shows it: text as it is, the rest as JSON. */
  static String shown(Object value) {
    return plain(value) instanceof String text ? text : json(plain(value));
  }
}
