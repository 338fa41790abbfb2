package carillon.chaos.rules;

import org.jspecify.annotations.Nullable;

/**
 * A violation of a rule.
 *
 * @param task the affected task; null if it is not about one task
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
