package carillon.api.http;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.error.FieldError;
import carillon.store.db.Json;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** Writes errors as RFC 9457 problem documents. */
public final class Problem {

  public static final String MEDIA_TYPE = "application/problem+json";

  private Problem() {}

  static Answer answer(ApiException e, String requestId) {
    Answer answer = Answer.text(e.code().status(), MEDIA_TYPE, body(e, requestId));
    for (var header : e.headers().entrySet()) {
      answer = answer.with(header.getKey(), header.getValue());
    }
    return answer;
  }

  private static String body(ApiException e, String requestId) {
    ErrorCode code = e.code();
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    node.put("type", "/docs#" + code.code());
    node.put("title", code.title());
    node.put("status", code.status());
    node.put("detail", e.detail());
    node.put("code", code.code());
    if (!e.errors().isEmpty()) {
      ArrayNode errors = node.putArray("errors");
      for (FieldError error : e.errors()) {
        errors
            .addObject()
            .put("pointer", error.pointer())
            .put("code", error.code())
            .put("message", error.message());
      }
    }
    // 404 and 401 are the same byte for byte whatever was requested. The request id is in a header
    // of every response.
    if (code != ErrorCode.NOT_FOUND && code != ErrorCode.UNAUTHORIZED) {
      node.put("requestId", requestId);
    }
    return Json.MAPPER.writeValueAsString(node);
  }
}
