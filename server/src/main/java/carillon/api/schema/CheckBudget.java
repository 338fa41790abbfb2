package carillon.api.schema;

import com.networknt.schema.SchemaException;

/**
 * Limits the work of validating the payloads of one request. Tenants write schemas and payloads,
 * and a short schema can require exponential work.
 */
final class CheckBudget {

  /** The budget of the validation on this thread. */
  static final ScopedValue<CheckBudget> CURRENT = ScopedValue.newInstance();

  /** At worst some tenths of a second of a core. */
  private static final long PAYLOAD_STEPS = 2_000_000;

  private static final long REQUEST_STEPS = 5 * PAYLOAD_STEPS;

  /**
   * Enough for an object with some patterns. The largest batch takes about twenty seconds of a core
   * at worst.
   */
  private static final long STEPS_PER_TASK = 1_000;

  /** After this many steps, the thread yields its core. */
  private static final long STEPS_PER_TURN = 100_000;

  private long leftOfRequest;
  private long leftOfPayload;

  /**
   * @param tasks of the request
   */
  CheckBudget(int tasks) {
    leftOfRequest = Math.max(REQUEST_STEPS, STEPS_PER_TASK * tasks);
  }

  /** Must be called before each payload. */
  void nextPayload() {
    leftOfPayload = PAYLOAD_STEPS;
  }

  @SuppressWarnings("ThreadPriorityCheck") // a virtual thread keeps its core until it yields
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

  /** Whether the budget of the request is used up. */
  boolean isSpent() {
    return leftOfRequest < 0;
  }

  /** Extends the library's exception: it logs all others. */
  static final class Exceeded extends SchemaException {
    private static final long serialVersionUID = 1L;

    Exceeded() {
      super("validation takes too many steps");
    }
  }
}
