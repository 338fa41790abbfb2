package carillon.api.http;

import carillon.store.db.Json;
import io.helidon.webserver.http.ServerResponse;
import java.io.IOException;
import java.io.OutputStream;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/**
 * The response to a request.
 *
 * @param written writes a body that is not text; null for a text body
 * @param live writes a body that is not complete yet; null if it is
 */
public record Answer(
    int status,
    String contentType,
    String body,
    Map<String, String> headers,
    @Nullable Written written,
    @Nullable Live live) {

  /** Writes a body including its headers. */
  public interface Written {
    void to(ServerResponse response);
  }

  static final String JSON = "application/json";

  public Answer {
    headers = Map.copyOf(headers);
  }

  public Answer(int status, String contentType, String body, Map<String, String> headers) {
    this(status, contentType, body, headers, null, null);
  }

  /** A body that is produced while it is written, such as an event stream. */
  public interface Live extends AutoCloseable {

    /** Returns when the body is complete. */
    void writeTo(OutputStream out) throws IOException, InterruptedException;

    /** Always called, also if the body was never written. */
    @Override
    void close();
  }

  public static Answer live(String contentType, Live body) {
    return new Answer(200, contentType, "", Map.of(), null, body);
  }

  public static Answer json(int status, ObjectNode body) {
    return json(status, Json.MAPPER.writeValueAsString(body));
  }

  public static Answer json(int status, String body) {
    return text(status, JSON, body);
  }

  public static Answer text(int status, String contentType, String body) {
    return new Answer(status, contentType, body, Map.of());
  }

  public static Answer noContent() {
    return new Answer(204, JSON, "", Map.of());
  }

  public Answer with(String header, String value) {
    Map<String, String> more = new LinkedHashMap<>(headers);
    more.put(header, value);
    return new Answer(status, contentType, body, more, written, live);
  }

  /** Replaces the body by one that is not text. */
  public Answer written(Written other) {
    return new Answer(status, contentType, body, headers, other, live);
  }

  public Answer withVersion(int version) {
    return with("ETag", "\"" + version + "\"");
  }
}
