import java.math.BigDecimal;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

import org.apache.hadoop.hive.metastore.api.FieldSchema;

/** Result rows as JSON: numbers and booleans bare, binary as hexadecimal, all else as Hive prints it. */
class Rows {
  static String json(Object row, List<FieldSchema> fields) {
    if (!(row instanceof Object[])) {
      return text(String.valueOf(row));
    }
    Object[] values = (Object[]) row;
    StringBuilder out = new StringBuilder("{");
    for (int i = 0; i < values.length; i++) {
      out.append(i > 0 ? "," : "").append(text(fields.get(i).getName())).append(":")
          .append(value(values[i], fields.get(i).getType()));
    }
    return out.append("}").toString();
  }

  private static String value(Object value, String type) {
    if (value == null) {
      return "null";
    }
    if (value instanceof Boolean || isFinite(value)) {
      return value.toString();
    }
    if (value instanceof byte[]) {
      StringBuilder hex = new StringBuilder();
      for (byte b : (byte[]) value) {
        hex.append(String.format("%02x", b));
      }
      return text(hex.toString());
    }
    return type.matches("(struct|array|map)<.*") ? quoteKeys(value.toString()) : text(value.toString());
  }

  private static boolean isFinite(Object value) {
    return value instanceof Number && !(value instanceof BigDecimal)
        && Double.isFinite(((Number) value).doubleValue());
  }

  static String text(String value) {
    StringBuilder out = new StringBuilder("\"");
    for (char c : value.toCharArray()) {
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c < ' ' || c > '~') {
        out.append(String.format("\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    return out.append('"').toString();
  }

  /** Hive's JSON with its map keys quoted: it prints those that are not strings bare. */
  private static String quoteKeys(String json) {
    StringBuilder out = new StringBuilder();
    Deque<Character> open = new ArrayDeque<>();
    boolean atKey = false;
    for (int i = 0; i < json.length(); i++) {
      char c = json.charAt(i);
      int end = i;
      if (c == '"') {
        end = closingQuote(json, i);
        out.append(json, i, end + 1);
        atKey = false;
      } else if (atKey && c != '}') {
        end = json.indexOf(':', i) - 1;
        out.append('"').append(json, i, end + 1).append('"');
        atKey = false;
      } else {
        out.append(c);
        if (c == '{' || c == '[') {
          open.push(c);
        } else if (c == '}' || c == ']') {
          open.pop();
        }
        atKey = c == '{' || c == ',' && open.peek() == '{';
      }
      i = end;
    }
    return out.toString();
  }

  private static int closingQuote(String json, int opening) {
    int i = opening + 1;
    while (json.charAt(i) != '"') {
      i += json.charAt(i) == '\\' ? 2 : 1;
    }
    return i;
  }
}
