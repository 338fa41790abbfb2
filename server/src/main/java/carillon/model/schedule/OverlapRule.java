package carillon.model.schedule;

import java.util.Optional;

/** What a schedule does if it fires while a task of an earlier fire has not ended. */
public enum OverlapRule {
  SKIP("skip"),
  ALLOW("allow"),
  /** One task waits; further fires are skipped while it waits. */
  QUEUE("queue"),
  CANCEL_PREVIOUS("cancelPrevious");

  private final String label;

  OverlapRule(String label) {
    this.label = label;
  }

  /** The name in the API. */
  public String label() {
    return label;
  }

  public static Optional<OverlapRule> labelled(String label) {
    for (OverlapRule rule : values()) {
      if (rule.label.equals(label)) {
        return Optional.of(rule);
      }
    }
    return Optional.empty();
  }
}
