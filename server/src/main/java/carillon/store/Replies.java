package carillon.store;

import carillon.model.TenantId;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Answers given under an idempotency key, kept for 24 hours so that a repeat is answered alike and does nothing. */
public final class Replies {

  /** What was answered. */
  public record Reply(int status, @Nullable String location, String body) {}

  /** What became of a request under a key. */
  public sealed interface Result {
    /** Done now, or an earlier answer repeated. */
    record Answered(Reply reply, boolean repeated) implements Result {}

    /** The key was used before, for another request. */
    record Mismatch() implements Result {}

    /** The first request with this key has not ended yet. */
    record Pending() implements Result {}

    /** The work had nothing to answer yet and wrote nothing. */
    record Nothing() implements Result {}
  }

  /**
   * Runs the work and keeps its answer in one transaction, unless the key was used before. An answer that is not a
   * success is not kept, and what the work wrote is rolled back; so is work that returns nothing.
   */
  public Result once(TenantId tenant, String key, byte[] fingerprint, Function<Tx, Optional<Reply>> work) { throw new UnsupportedOperationException(); }
}
