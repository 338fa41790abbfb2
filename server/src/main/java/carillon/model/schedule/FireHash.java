package carillon.model.schedule;

import carillon.model.KeyText;
import carillon.model.TaskId;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;

/** Pseudorandom properties of a fire that are the same on every node. */
public final class FireHash {

  private FireHash() {}

  /**
   * The id of a fire's task.
   *
   * @param generation incremented when planned tasks are withdrawn, so that a nominal time that is
   *     planned again gets another task
   */
  public static TaskId taskId(long schedule, int generation, Instant at, Instant dueAt) {
    ByteBuffer bits = sha256("task " + schedule + " " + generation + " " + at);
    return TaskId.at(dueAt, bits::getLong);
  }

  /** Uniformly distributed over [0, range), in whole milliseconds. */
  public static Duration within(Duration range, long schedule, Instant at) {
    long millis = range.toMillis();
    return millis == 0
        ? Duration.ZERO
        : Duration.ofMillis(
            Long.remainderUnsigned(sha256("jitter " + schedule + " " + at).getLong(), millis));
  }

  private static ByteBuffer sha256(String text) {
    return ByteBuffer.wrap(KeyText.sha256(text));
  }
}
