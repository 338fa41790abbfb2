package carillon.api.http;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** The table of all endpoints. */
public final class Endpoints {

  private final String notFound;
  private final List<Entry> entries;
  private final Map<Literal, Match> literals = new HashMap<>();

  /**
   * @param notFound the error for every other path
   */
  public Endpoints(List<Endpoint> endpoints, String notFound) {
    this.notFound = notFound;
    this.entries = endpoints.stream().map(each -> new Entry(each, split(each.path()))).toList();
    for (Endpoint each : endpoints) {
      if (each.path().indexOf('{') < 0) {
        literals.put(new Literal(each.method(), each.path()), new Match(each, Map.of()));
      }
    }
  }

  /** A path without parameters. The busiest ones are, so they are found by a lookup. */
  private record Literal(String method, String path) {}

  private record Entry(Endpoint endpoint, List<String> parts) {}

  /** An endpoint and the values of its path parameters. */
  record Match(Endpoint endpoint, Map<String, String> parameters) {}

  public List<Endpoint> all() {
    return entries.stream().map(Entry::endpoint).toList();
  }

  /**
   * @param path still percent-encoded, so that an encoded slash does not separate
   */
  Match match(String method, String path) {
    Match literal = literals.get(new Literal(method, path));
    return literal == null ? search(method, path) : literal;
  }

  private Match search(String method, String path) {
    List<String> parts = split(path);
    List<Match> matches = new ArrayList<>();
    for (Entry entry : entries) {
      Map<String, String> parameters = parameters(entry.parts(), parts);
      if (parameters != null) {
        matches.add(new Match(entry.endpoint(), parameters));
      }
    }
    if (matches.isEmpty()) {
      throw new ApiException(ErrorCode.NOT_FOUND, notFound);
    }
    // Literal paths win over templates: POST /v1/tasks/batch is not the task with the id "batch".
    int fewest = matches.stream().mapToInt(match -> match.parameters().size()).min().orElse(0);
    matches.removeIf(match -> match.parameters().size() > fewest);
    for (Match match : matches) {
      if (match.endpoint().method().equals(method)) {
        return match;
      }
    }
    TreeSet<String> allowed = new TreeSet<>();
    matches.forEach(match -> allowed.add(match.endpoint().method()));
    throw new ApiException(
            ErrorCode.METHOD_NOT_ALLOWED, "this path supports " + String.join(", ", allowed))
        .with("Allow", String.join(", ", allowed));
  }

  private static @Nullable Map<String, String> parameters(
      List<String> template, List<String> parts) {
    if (template.size() != parts.size()) {
      return null;
    }
    Map<String, String> parameters = new HashMap<>();
    for (int i = 0; i < parts.size(); i++) {
      String expected = template.get(i);
      if (expected.startsWith("{")) {
        parameters.put(expected.substring(1, expected.length() - 1), decode(parts.get(i)));
      } else if (!expected.equals(parts.get(i))) {
        return null;
      }
    }
    return parameters;
  }

  private static List<String> split(String path) {
    return List.of(path.split("/", -1));
  }

  private static String decode(String part) {
    String text = PercentText.ofPath(part);
    if (text == null) {
      throw new ApiException(ErrorCode.BAD_REQUEST, "the path is not percent-encoded UTF-8");
    }
    return text;
  }
}
