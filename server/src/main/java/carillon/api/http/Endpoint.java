package carillon.api.http;

import java.util.Set;

/**
 * One method of one path.
 *
 * @param path a template: {@code /v1/tasks/{id}}
 * @param query the query parameters that it supports; one that ends in a dot stands for all that
 *     start with it
 */
public record Endpoint(
    String method, String path, Permission permission, Set<String> query, Handler handler) {

  public Endpoint {
    query = Set.copyOf(query);
  }

  public static Endpoint get(
      String path, Permission permission, Set<String> query, Handler handler) {
    return new Endpoint("GET", path, permission, query, handler);
  }

  public static Endpoint get(String path, Permission permission, Handler handler) {
    return get(path, permission, Set.of(), handler);
  }

  public static Endpoint post(String path, Permission permission, Handler handler) {
    return new Endpoint("POST", path, permission, Set.of(), handler);
  }

  public static Endpoint put(String path, Permission permission, Handler handler) {
    return new Endpoint("PUT", path, permission, Set.of(), handler);
  }

  public static Endpoint patch(String path, Permission permission, Handler handler) {
    return new Endpoint("PATCH", path, permission, Set.of(), handler);
  }

  public static Endpoint delete(String path, Permission permission, Handler handler) {
    return new Endpoint("DELETE", path, permission, Set.of(), handler);
  }

  public boolean takesBody() {
    return !method.equals("GET") && !method.equals("DELETE");
  }

  /** Handles a call; errors are thrown. */
  public interface Handler {
    Answer answer(Call call) throws InterruptedException;
  }
}
