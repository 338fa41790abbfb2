package carillon.chaos.cluster;

import carillon.chaos.history.Fields;
import carillon.chaos.history.Recorder;
import java.io.UncheckedIOException;

/**
 * Starts threads of the harness. A thread that fails is recorded, because the run is then
 * inconclusive.
 */
public final class HarnessThread {

  private HarnessThread() {}

  public static Thread start(Recorder recorder, String name, Runnable body) {
    return Thread.ofVirtual()
        .name(name)
        .uncaughtExceptionHandler((_, e) -> note(recorder, name, e))
        .start(body);
  }

  private static void note(Recorder recorder, String name, Throwable failure) {
    try {
      recorder.event("harness", Fields.of("thread", name).and("error", String.valueOf(failure)));
    } catch (UncheckedIOException _) {
      // the run is over, and the history closed
    }
  }
}
