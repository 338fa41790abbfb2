package carillon.api;

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

  private long leftOfRequest = REQUEST_STEPS;
  private long leftOfPayload;

  /** Must be called before each payload. */
  void nextPayload() {
    leftOfPayload = PAYLOAD_STEPS;
  }

  void spend(long steps) {
    leftOfPayload -= steps;
    leftOfRequest -= steps;
    if (leftOfPayload < 0 || leftOfRequest < 0) {
      throw new Exceeded();
    }
  }

  /** Of the library's own kind, because its parts let only those pass without a line in the log. */
  static final class Exceeded extends SchemaException {
    private static final long serialVersionUID = 1L;

    Exceeded() {
      super("the check takes too many steps");
    }
  }
}
