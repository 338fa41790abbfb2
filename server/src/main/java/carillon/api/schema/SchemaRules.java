package carillon.api.schema;

import carillon.api.error.ErrorCode;
import carillon.api.error.ValidationErrors;
import carillon.api.json.Pointer;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import tools.jackson.databind.JsonNode;

/**
 * Rules for schemas in addition to the standard: no remote references, no infinite recursion, and a
 * bounded size.
 */
final class SchemaRules {

  static final String DIALECT = "https://json-schema.org/draft/2020-12/schema";

  private static final int MAX_SUBSCHEMAS = 2_000;

  /** Instructions of all patterns together; they take some megabytes. */
  private static final int MAX_PATTERN_WEIGHT = 20_000;

  private static final Set<String> WITH_SCHEMA =
      Set.of(
          "not",
          "if",
          "then",
          "else",
          "contains",
          "items",
          "additionalItems",
          "additionalProperties",
          "propertyNames",
          "unevaluatedItems",
          "unevaluatedProperties",
          "contentSchema");

  private static final Set<String> WITH_SCHEMAS = Set.of("allOf", "anyOf", "oneOf", "prefixItems");

  private static final Set<String> WITH_NAMED_SCHEMAS =
      Set.of(
          "properties",
          "patternProperties",
          "$defs",
          "definitions",
          "dependentSchemas",
          "dependencies");

  /** Keywords that apply to the same value again, not to a part of it. */
  private static final Set<String> IN_PLACE =
      Set.of(
          "allOf",
          "anyOf",
          "oneOf",
          "not",
          "if",
          "then",
          "else",
          "dependentSchemas",
          "dependencies");

  /** Keywords whose names are all read for each value, however small it is. */
  private static final Set<String> READ_COMPLETELY =
      Set.of("properties", "patternProperties", "required", "dependentRequired", "dependencies");

  private final String pointer;
  private final ValidationErrors errors;

  /** By the pointer of each subschema, the subschemas that apply to the same value. */
  private final Map<String, List<String>> inPlace = new LinkedHashMap<>();

  private final Map<String, String> anchors = new HashMap<>();
  private final List<Reference> references = new ArrayList<>();
  private int widest;
  private long patternWeight;

  /**
   * The size of a schema.
   *
   * @param widest number of names of its widest keyword
   * @param schemas number of subschemas, including itself
   * @param patternWeight see {@link LinearPattern#weight}
   */
  record Size(int widest, int schemas, long patternWeight) {}

  private record Reference(String from, String keyword, String to) {}

  private SchemaRules(String pointer, ValidationErrors errors) {
    this.pointer = pointer;
    this.errors = errors;
  }

  /**
   * Checks a schema that is valid by the standard, and adds its errors.
   *
   * @param pointer to the schema in the request
   */
  static Size check(JsonNode schema, String pointer, ValidationErrors errors) {
    SchemaRules rules = new SchemaRules(pointer, errors);
    rules.visit(schema, "");
    rules.references.forEach(rules::resolve);
    if (errors.isEmpty()) {
      rules.rejectCycles();
    }
    return new Size(rules.widest, rules.inPlace.size(), rules.patternWeight);
  }

  /** The subschemas that apply to the same value as the one at a pointer. */
  private List<String> inPlaceOf(String at) {
    return inPlace.computeIfAbsent(at, _ -> new ArrayList<>());
  }

  private void visit(JsonNode schema, String at) {
    inPlaceOf(at);
    if (inPlace.size() == MAX_SUBSCHEMAS + 1) {
      wrong("", ErrorCode.INVALID_SCHEMA, "must have at most " + MAX_SUBSCHEMAS + " subschemas");
    }
    if (inPlace.size() > MAX_SUBSCHEMAS || !schema.isObject()) {
      return;
    }
    schema.forEachEntry((keyword, value) -> visit(at, keyword, value));
  }

  private void visit(String at, String keyword, JsonNode value) {
    String here = at + "/" + escaped(keyword);
    if (READ_COMPLETELY.contains(keyword)) {
      widest = Math.max(widest, value.size());
    }
    if (WITH_SCHEMA.contains(keyword)) {
      child(at, keyword, value, here);
    } else if (WITH_SCHEMAS.contains(keyword)) {
      for (int i = 0; i < value.size(); i++) {
        child(at, keyword, value.get(i), here + "/" + i);
      }
    } else if (WITH_NAMED_SCHEMAS.contains(keyword)) {
      value.forEachEntry((name, each) -> child(at, keyword, each, here + "/" + escaped(name)));
    }
    switch (keyword) {
      case "$ref", "$dynamicRef" ->
          references.add(new Reference(at, here, value.asString())); // the same within one document
      case "$anchor", "$dynamicAnchor" -> anchors.put(value.asString(), at);
      case "$id" -> {
        if (!at.isEmpty()) {
          wrong(here, ErrorCode.INVALID_SCHEMA, "is only supported at the top level");
        }
      }
      case "$schema" -> {
        if (!value.asString().equals(DIALECT) && !value.asString().equals(DIALECT + "#")) {
          wrong(here, ErrorCode.INVALID_SCHEMA, "must be " + DIALECT + ", or be omitted");
        }
      }
      case "pattern" -> pattern(here, value.asString());
      case "patternProperties" ->
          value.forEachEntry((name, _) -> pattern(here + "/" + escaped(name), name));
      default -> {
        // Nothing that needs a rule.
      }
    }
  }

  private void child(String at, String keyword, JsonNode schema, String here) {
    if (!schema.isObject() && !schema.isBoolean()) {
      return; // such as a list of names in dependencies
    }
    if (IN_PLACE.contains(keyword)) {
      inPlaceOf(at).add(here);
    }
    visit(schema, here);
  }

  private void pattern(String here, String regex) {
    if (patternWeight > MAX_PATTERN_WEIGHT) {
      return; // already reported
    }
    try {
      LinearPattern.compile(regex);
    } catch (IllegalArgumentException e) {
      wrong(here, ErrorCode.INVALID_SCHEMA, String.valueOf(e.getMessage()));
      return;
    }
    patternWeight += LinearPattern.weight(regex);
    if (patternWeight > MAX_PATTERN_WEIGHT) {
      wrong(
          here,
          ErrorCode.INVALID_SCHEMA,
          "the patterns of a schema must have at most about "
              + MAX_PATTERN_WEIGHT
              + " characters with their repeats written out; use fewer patterns or shorter"
              + " repeats");
    }
  }

  private void resolve(Reference reference) {
    if (!reference.to().startsWith("#")) {
      wrong(
          reference.keyword(),
          ErrorCode.REMOTE_REF,
          "must start with # and refer to this schema; nothing is fetched");
      return;
    }
    String fragment = decoded(reference.to().substring(1));
    String target =
        fragment.isEmpty() || fragment.startsWith("/") ? fragment : anchors.get(fragment);
    if (target == null || !inPlace.containsKey(target)) {
      wrong(
          reference.keyword(),
          ErrorCode.INVALID_SCHEMA,
          "does not refer to a subschema of this schema");
      return;
    }
    inPlaceOf(reference.from()).add(target);
  }

  private static String decoded(String fragment) {
    try {
      return URLDecoder.decode(fragment.replace("+", "%2B"), StandardCharsets.UTF_8);
    } catch (IllegalArgumentException e) {
      return "/?"; // refers to nothing
    }
  }

  /** A schema that refers back to itself for the same value would never end. */
  private void rejectCycles() {
    Set<String> ended = new HashSet<>();
    for (String start : inPlace.keySet()) {
      if (hasCycle(start, new HashSet<>(), ended)) {
        wrong(start, ErrorCode.INVALID_SCHEMA, "refers back to itself for the same value");
        return;
      }
    }
  }

  private boolean hasCycle(String at, Set<String> open, Set<String> ended) {
    if (!open.add(at)) {
      return true;
    }
    for (String next : inPlace.getOrDefault(at, List.of())) {
      if (!ended.contains(next) && hasCycle(next, open, ended)) {
        return true;
      }
    }
    open.remove(at);
    ended.add(at);
    return false;
  }

  private static String escaped(String name) {
    return name.replace("~", "~0").replace("/", "~1");
  }

  private void wrong(String at, ErrorCode code, String message) {
    StringBuilder shown = new StringBuilder(pointer);
    for (String part : at.split("/", -1)) {
      if (!part.isEmpty()) {
        shown.append('/').append(Pointer.escape(part.replace("~1", "/").replace("~0", "~")));
      }
    }
    errors.add(shown.toString(), code, message);
  }
}
