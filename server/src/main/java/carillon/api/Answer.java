package carillon.api;

import carillon.store.Json;
import java.util.LinkedHashMap;
import java.util.Map;
import tools.jackson.databind.node.ObjectNode;

/** What a request is answered with. */
record Answer(int status, String contentType, String body, Map<String, String> headers) {

  static final String JSON = "application/json";

  Answer {
    headers = Map.copyOf(headers);
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
    return new Answer(status, contentType, body, more);
  }

  Answer withVersion(int version) {
    return with("ETag", "\"" + version + "\"");
  }
}
