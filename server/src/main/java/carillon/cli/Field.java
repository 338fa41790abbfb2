package carillon.cli;

import java.util.List;
import java.util.Map;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

/**
 * An option or argument of a command, and the field of the request that it fills.
 *
 * @param names of an option; empty for an argument
 * @param choices the values of a {@link Kind#CHOICE}
 * @param path the field, with dots for nesting, such as {@code retry.maxAttempts}
 */
public record Field(
    Kind kind,
    List<String> names,
    String label,
    String path,
    String description,
    boolean isRequired,
    List<String> choices) {

  /** The format of a value. */
  public enum Kind {
    TEXT,
    /** One of several names. */
    CHOICE,
    NUMBER,
    FLAG,
    /** A flag that stands for an empty object. */
    EMPTY,
    /** JSON, {@code @file}, or {@code -} for standard input. */
    JSON,
    /** NAME=VALUE, repeatable; becomes an object. */
    PAIRS,
    LIST,
    /** A part of the request path. */
    IN_PATH,
    IDEMPOTENCY_KEY
  }

  private static final String JSON_LABEL = "JSON|@FILE|-";

  public Field {
    names = List.copyOf(names);
    choices = List.copyOf(choices);
  }

  /**
   * A text option.
   *
   * @param option its names and the label of its value, such as {@code --due --due-at TIME}
   */
  public static Field text(String option, String path, String description) {
    return option(Kind.TEXT, option, path, description);
  }

  /** A text that is one of these names; case-insensitive. */
  public static Field choice(String option, String path, List<String> choices) {
    Field text = option(Kind.CHOICE, option, path, alternatives(choices));
    return new Field(
        text.kind, text.names, text.label, path, text.description, text.isRequired, choices);
  }

  /** The names as "A, B or C". */
  static String alternatives(List<String> names) {
    return String.join(", ", names.subList(0, names.size() - 1)) + " or " + names.getLast();
  }

  public static Field number(String option, String path, String description) {
    return option(Kind.NUMBER, option, path, description);
  }

  public static Field flag(String option, String path, String description) {
    return option(Kind.FLAG, option, path, description);
  }

  public static Field empty(String option, String path, String description) {
    return option(Kind.EMPTY, option, path, description);
  }

  public static Field json(String option, String path, String description) {
    return option(Kind.JSON, option + " " + JSON_LABEL, path, description);
  }

  public static Field pairs(String option, String path, String description) {
    return option(Kind.PAIRS, option + " NAME=VALUE", path, description);
  }

  public static Field list(String option, String path, String description) {
    return option(Kind.LIST, option, path, description);
  }

  public static Field idempotencyKey() {
    return option(
        Kind.IDEMPOTENCY_KEY, "--idempotency-key KEY", "", "makes retries of this call safe");
  }

  /** An argument that fills {@code {LABEL}} in the request path. */
  static Field inPath(String label) {
    return new Field(Kind.IN_PATH, List.of(), label, "", "", true, List.of());
  }

  public static Field argument(String label, String path, String description) {
    return new Field(Kind.TEXT, List.of(), label, path, description, true, List.of());
  }

  /** An optional argument that is the whole request; options override its fields. */
  public static Field whole(String description) {
    return new Field(Kind.JSON, List.of(), JSON_LABEL, "", description, false, List.of());
  }

  private static Field option(Kind kind, String option, String path, String description) {
    List<String> words = List.of(option.split(" ", -1));
    List<String> names = words.stream().filter(word -> word.startsWith("-")).toList();
    String label = names.size() == words.size() ? "" : words.getLast();
    return new Field(kind, names, label, path, description, false, List.of());
  }

  public Field required() {
    return new Field(kind, names, label, path, description, true, choices);
  }

  public Field optional() {
    return new Field(kind, names, label, path, description, false, choices);
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
    if (!isOption()) {
      return PositionalParamSpec.builder()
          .index(String.valueOf(index))
          .required(isRequired)
          .arity(isRequired ? "1" : "0..1")
          .type(String.class)
          .paramLabel(label)
          .description(description)
          .build();
    }
    OptionSpec.Builder option =
        OptionSpec.builder(names.toArray(String[]::new))
            .required(isRequired)
            .description(description);
    if (!label.isEmpty()) {
      option.paramLabel(label);
    }
    switch (kind) {
      case NUMBER -> option.type(Integer.class);
      case FLAG, EMPTY -> option.type(boolean.class);
      case PAIRS -> option.type(Map.class).auxiliaryTypes(String.class, String.class);
      case LIST -> option.type(List.class).auxiliaryTypes(String.class).splitRegex(",");
      default -> option.type(String.class);
    }
    return option.build();
  }
}
