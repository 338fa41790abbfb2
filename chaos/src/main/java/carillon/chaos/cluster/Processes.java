package carillon.chaos.cluster;

import java.io.IOException;
import java.util.List;

/** Every program that the harness starts; none outlives it, and none starts once it ends. */
public final class Processes {

  private static boolean over; // guarded by the class
  private static boolean hooked; // guarded by the class

  private Processes() {}

  static synchronized Process start(ProcessBuilder builder) throws IOException {
    if (over) {
      throw new IOException("the harness is ending");
    }
    if (!hooked) {
      hooked = true; // also in a test whose machine is stopped in the middle
      Runtime.getRuntime().addShutdownHook(new Thread(Processes::endAll));
    }
    return builder.start();
  }

  /** Kills all that run, for good. */
  public static void endAll() {
    List<ProcessHandle> left;
    synchronized (Processes.class) {
      over = true;
      left = ProcessHandle.current().descendants().toList();
    }
    left.forEach(ProcessHandle::destroyForcibly);
    left.forEach(process -> process.onExit().join());
  }
}
