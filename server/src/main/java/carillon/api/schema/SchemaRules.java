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
 * What we ask of a schema beyond that it is one: nothing is fetched, nothing refers to itself
 * without end, and it is of a bounded size.
 */
final class SchemaRules {

  static final String DIALECT = "https://json-schema.org/draft/2020-12/schema";

  private static final int MAX_SUBSCHEMAS = 2_000;

  /** Of the programs of all patterns together; takes some megabytes. */
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

  /** Those that look at the same value again, not at a part of it. */
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

  /** Those that are gone through for each value, however little of it there is. */
  private static final Set<String> GONE_THROUGH =
      Set.of("properties", "patternProperties", "required", "dependentRequired", "dependencies");

  private final String pointer;
  private final ValidationErrors errors;

  /** By the pointer of each subschema, those that look at the same value. */
  private final Map<String, List<String>> inPlace = new LinkedHashMap<>();

  private final Map<String, String> anchors = new HashMap<>();
  private final List<Reference> references = new ArrayList<>();
  private int widest;
  private long patternWeight;

  /**
   * How large a schema is.
   *
   * @param widest names that its widest keyword has
   * @param schemas subschemas, with itself
   * @param patternWeight see {@link LinearPattern#weight}
   */
  record Size(int widest, int schemas, long patternWeight) {}

  private record Reference(String from, String keyword, String to) {}

  private SchemaRules(String pointer, ValidationErrors errors) {
    this.pointer = pointer;
    this.errors = errors;
  }

  /**
   * Notes what is wrong with a schema that is valid by the book.
   *
   * @param pointer where the schema is in the request
   */
  static Size check(JsonNode schema, String pointer, ValidationErrors errors) {
    SchemaRules rules = new SchemaRules(pointer, errors);
    rules.visit(schema, "");
    rules.references.forEach(rules::resolve);
    if (errors.isEmpty()) {
      rules.refuseCircles();
    }
    return new Size(rules.widest, rules.inPlace.size(), rules.patternWeight);
  }

  /** The subschemas that look at the same value as the one there. */
  private List<String> seenWith(String at) {
    return inPlace.computeIfAbsent(at, _ -> new ArrayList<>());
  }

  private void visit(JsonNode schema, String at) {
    seenWith(at);
    if (inPlace.size() == MAX_SUBSCHEMAS + 1) {
      wrong("", ErrorCode.INVALID_SCHEMA, "may have " + MAX_SUBSCHEMAS + " schemas in it");
    }
    if (inPlace.size() > MAX_SUBSCHEMAS || !schema.isObject()) {
      return;
    }
    schema.forEachEntry((keyword, value) -> visit(at, keyword, value));
  }

  private void visit(String at, String keyword, JsonNode value) {
    String here = at + "/" + escaped(keyword);
    if (GONE_THROUGH.contains(keyword)) {
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
          references.add(new Reference(at, here, value.asString())); // one document: both the same
      case "$anchor", "$dynamicAnchor" -> anchors.put(value.asString(), at);
      case "$id" -> {
        if (!at.isEmpty()) {
          wrong(here, ErrorCode.INVALID_SCHEMA, "can be set at the top only");
        }
      }
      case "$schema" -> {
        if (!value.asString().equals(DIALECT) && !value.asString().equals(DIALECT + "#")) {
          wrong(here, ErrorCode.INVALID_SCHEMA, "must be " + DIALECT + ", or left out");
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
      return; // such as a list of names among the dependencies
    }
    if (IN_PLACE.contains(keyword)) {
      seenWith(at).add(here);
    }
    visit(schema, here);
  }

  private void pattern(String here, String regex) {
    if (patternWeight > MAX_PATTERN_WEIGHT) {
      return; // said already, and not worth the work
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
          "is a pattern too many: with their repeats written out, the patterns of a schema may have"
              + " about "
              + MAX_PATTERN_WEIGHT
              + " characters; use fewer, or shorter repeats");
    }
  }

  private void resolve(Reference reference) {
    if (!reference.to().startsWith("#")) {
      wrong(
          reference.keyword(),
          ErrorCode.REMOTE_REF,
          "must start with # and stay in this schema: nothing is fetched");
      return;
    }
    String fragment = decoded(reference.to().substring(1));
    String target =
        fragment.isEmpty() || fragment.startsWith("/") ? fragment : anchors.get(fragment);
    if (target == null || !inPlace.containsKey(target)) {
      wrong(
          reference.keyword(),
          ErrorCode.INVALID_SCHEMA,
          "must be the place of a schema in this one");
      return;
    }
    seenWith(reference.from()).add(target);
  }

  private static String decoded(String fragment) {
    try {
      return URLDecoder.decode(fragment.replace("+", "%2B"), StandardCharsets.UTF_8);
    } catch (IllegalArgumentException e) {
      return "/?"; // is nowhere
    }
  }

  /** A schema that leads back to itself for the same value would be looked at for ever. */
  private void refuseCircles() {
    Set<String> ended = new HashSet<>();
    for (String start : inPlace.keySet()) {
      if (leadsBack(start, new HashSet<>(), ended)) {
        wrong(start, ErrorCode.INVALID_SCHEMA, "leads back to itself for the same value");
        return;
      }
    }
  }

  private boolean leadsBack(String at, Set<String> open, Set<String> ended) {
    if (!open.add(at)) {
      return true;
    }
    for (String next : inPlace.getOrDefault(at, List.of())) {
      if (!ended.contains(next) && leadsBack(next, open, ended)) {
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
