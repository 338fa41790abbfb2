package carillon.api;

import carillon.store.Json;
import java.io.IOException;
import java.io.OutputStream;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/**
 * What a request is answered with.
 *
 * @param live written instead of the body, as long as it goes on
 */
record Answer(
    int status,
    String contentType,
    String body,
    Map<String, String> headers,
    @Nullable Live live) {

  static final String JSON = "application/json";

  Answer {
    headers = Map.copyOf(headers);
  }

  Answer(int status, String contentType, String body, Map<String, String> headers) {
    this(status, contentType, body, headers, null);
  }

  /** A body that comes about while it is written. */
  interface Live extends AutoCloseable {

    /** Returns when it is over. */
    void writeTo(OutputStream out) throws IOException, InterruptedException;

    /** Called once nobody writes it any more, and also if nobody ever does. */
    @Override
    void close();
  }

  static Answer live(String contentType, Live body) {
    return new Answer(200, contentType, "", Map.of(), body);
  }

  static Answer json(int status, ObjectNode body) {
    return json(status, Json.MAPPER.writeValueAsString(body));
  }

  static Answer json(int status, String body) {
    return text(status, JSON, body);
  }

  static Answer text(int status, String contentType, String body) {
    return new Answer(status, contentType, body, Map.of());
  }

  static Answer noContent() {
    return new Answer(204, JSON, "", Map.of());
  }

  Answer with(String header, String value) {
    Map<String, String> more = new LinkedHashMap<>(headers);
    more.put(header, value);
    return new Answer(status, contentType, body, more, live);
  }

  Answer withVersion(int version) {
    return with("ETag", "\"" + version + "\"");
  }
}
