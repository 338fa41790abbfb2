package carillon.chaos.rules;

import org.jspecify.annotations.Nullable;

/**
 * Something that must not happen, and did.
 *
 * @param task the one that it happened to, if it was one
 */
public record Violation(Rule rule, @Nullable String task, String what) {

  @SuppressWarnings("AnnotateFormatMethod") // would be a dependency for one method
  static Violation of(Rule rule, @Nullable String task, String what, @Nullable Object... details) {
    return new Violation(rule, task, details.length == 0 ? what : what.formatted(details));
  }

  @Override
  public String toString() {
    return rule + (task == null ? "" : " " + task) + ": " + what;
  }
}
