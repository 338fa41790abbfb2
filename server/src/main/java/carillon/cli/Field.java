package carillon.cli;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

/**
 * An option or argument of a command, and the field of the request that it fills.
 *
 * @param names of an option; empty for an argument
 * @param path the field, with a dot before each level of nesting, such as {@code retry.maxAttempts}
 */
public record Field(
    Kind kind,
    List<String> names,
    String label,
    String path,
    String description,
    boolean isRequired) {

  /** What a value looks like. */
  public enum Kind {
    TEXT,
    NUMBER,
    FLAG,
    /** A flag that stands for an empty object. */
    EMPTY,
    /** JSON, a file of it, or standard input. */
    JSON,
    /** Names and values, as an object. */
    PAIRS,
    LIST,
    /** A part of the path of the request. */
    IN_PATH,
    IDEMPOTENCY_KEY
  }

  private static final String JSON_LABEL = "JSON|@FILE|-";

  public Field {
    names = List.copyOf(names);
  }

  /**
   * @param names one or more, with a blank between them
   */
  public static Field text(String names, String label, String path, String description) {
    return option(Kind.TEXT, names, label, path, description);
  }

  public static Field number(String names, String label, String path, String description) {
    return option(Kind.NUMBER, names, label, path, description);
  }

  public static Field flag(String names, String path, String description) {
    return option(Kind.FLAG, names, "", path, description);
  }

  public static Field empty(String names, String path, String description) {
    return option(Kind.EMPTY, names, "", path, description);
  }

  public static Field json(String names, String path, String description) {
    return option(Kind.JSON, names, JSON_LABEL, path, description);
  }

  public static Field pairs(String names, String path, String description) {
    return option(Kind.PAIRS, names, "NAME=VALUE", path, description);
  }

  public static Field list(String names, String label, String path, String description) {
    return option(Kind.LIST, names, label, path, description);
  }

  public static Field idempotencyKey() {
    return option(
        Kind.IDEMPOTENCY_KEY,
        "--idempotency-key",
        "KEY",
        "",
        "makes retries of this call safe");
  }

  /** An argument that fills {@code {LABEL}} in the path of the request. */
  public static Field inPath(String label) {
    return new Field(Kind.IN_PATH, List.of(), label, "", "", true);
  }

  public static Field argument(String label, String path, String description) {
    return new Field(Kind.TEXT, List.of(), label, path, description, true);
  }

  /** An optional argument that is the whole request; options override its fields. */
  public static Field whole(String description) {
    return new Field(Kind.JSON, List.of(), JSON_LABEL, "", description, false);
  }

  private static Field option(
      Kind kind, String names, String label, String path, String description) {
    return new Field(kind, Arrays.asList(names.split(" ")), label, path, description, false);
  }

  public Field required() {
    return new Field(kind, names, label, path, description, true);
  }

  public Field optional() {
    return new Field(kind, names, label, path, description, false);
  }

  boolean isOption() {
    return !names.isEmpty();
  }

  /** The name that error messages use. */
  String name() {
    return isOption() ? names.getFirst() : label;
  }

  /**
   * @param index of an argument, counted from 0
   */
  ArgSpec spec(int index) {
    ArgSpec.Builder<?> spec =
        isOption()
            ? OptionSpec.builder(names.toArray(String[]::new)).required(isRequired)
            : PositionalParamSpec.builder()
                .index(String.valueOf(index))
                .arity(isRequired ? "1" : "0..1");
    spec.description(description);
    if (!label.isEmpty()) {
      spec.paramLabel(label);
    }
    switch (kind) {
      case TEXT, JSON, IN_PATH, IDEMPOTENCY_KEY -> spec.type(String.class);
      case NUMBER -> spec.type(Integer.class);
      case FLAG, EMPTY -> spec.type(boolean.class);
      case PAIRS -> spec.type(Map.class).auxiliaryTypes(String.class, String.class);
      case LIST -> spec.type(List.class).auxiliaryTypes(String.class).splitRegex(",");
    }
    return spec.build();
  }
}
