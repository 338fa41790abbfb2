package carillon.chaos.cluster;

import java.io.IOException;
import java.util.List;

/**
 * Starts the processes of the harness. None outlives the harness, and none starts while it shuts
 * down.
 */
public final class Processes {

  private static boolean shutDown; // guarded by the class
  private static boolean hooked; // guarded by the class

  private Processes() {}

  static synchronized Process start(ProcessBuilder builder) throws IOException {
    if (shutDown) {
      throw new IOException("The harness is shutting down.");
    }
    if (!hooked) {
      hooked = true; // also if the JVM of a test is stopped
      Runtime.getRuntime().addShutdownHook(new Thread(Processes::killAll));
    }
    return builder.start();
  }

  /** Kills all processes and prevents new ones. */
  public static void killAll() {
    List<ProcessHandle> left;
    synchronized (Processes.class) {
      shutDown = true;
      left = ProcessHandle.current().descendants().toList();
    }
    left.forEach(ProcessHandle::destroyForcibly);
    left.forEach(process -> process.onExit().join());
  }
}
