package carillon.model.schedule;

import java.util.Optional;

/** What a schedule does when it fires and a task of an earlier fire has not ended. */
public enum OverlapRule {
  SKIP("skip"),
  ALLOW("allow"),
  /** One waits; what fires while one waits is skipped. */
  QUEUE("queue"),
  CANCEL_PREVIOUS("cancelPrevious");

  private final String label;

  OverlapRule(String label) {
    this.label = label;
  }

  /** As everybody outside is told. */
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
