package carillon.api.schema;

import com.networknt.schema.SchemaException;

/**
 * How much work the checks of one request may be. Schemas and payloads are written by tenants, and
 * a short schema can ask for more steps than there is time.
 */
final class CheckBudget {

  /** The one that the checks on this thread spend from. */
  static final ScopedValue<CheckBudget> CURRENT = ScopedValue.newInstance();

  /** Takes a core some tenths of a second at worst. */
  private static final long PAYLOAD_STEPS = 2_000_000;

  private static final long REQUEST_STEPS = 5 * PAYLOAD_STEPS;

  /**
   * Enough for an object with some patterns in it. The largest batch takes a core about twenty
   * seconds at worst.
   */
  private static final long STEPS_PER_TASK = 1_000;

  /** After so many, others have the core for a while. */
  private static final long STEPS_PER_TURN = 100_000;

  private long leftOfRequest;
  private long leftOfPayload;

  /** Of a request with so many tasks. */
  CheckBudget(int tasks) {
    leftOfRequest = Math.max(REQUEST_STEPS, STEPS_PER_TASK * tasks);
  }

  /** Must be called before each payload. */
  void nextPayload() {
    leftOfPayload = PAYLOAD_STEPS;
  }

  @SuppressWarnings("ThreadPriorityCheck") // a virtual thread keeps its core until it gives it back
  void spend(long steps) {
    long turn = leftOfRequest / STEPS_PER_TURN;
    leftOfPayload -= steps;
    leftOfRequest -= steps;
    if (leftOfRequest / STEPS_PER_TURN != turn) {
      Thread.yield();
    }
    if (leftOfPayload < 0 || leftOfRequest < 0) {
      throw new Exceeded();
    }
  }

  /** Whether nothing more can be checked in this request. */
  boolean isSpent() {
    return leftOfRequest < 0;
  }

  /** Of the library's own kind, because its parts let only those pass without a line in the log. */
  static final class Exceeded extends SchemaException {
    private static final long serialVersionUID = 1L;

    Exceeded() {
      super("the check takes too many steps");
    }
  }
}
