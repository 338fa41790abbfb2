package carillon.chaos.cluster;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/** Sends signals to processes of the harness. */
final class Signals {

  private Signals() {}

  static void stop(Collection<Long> pids) {
    send("STOP", pids);
  }

  static void resume(Collection<Long> pids) {
    send("CONT", pids);
  }

  static void interrupt(long pid) {
    send("INT", List.of(pid));
  }

  static void quit(long pid) {
    send("QUIT", List.of(pid));
  }

  /** Processes that have exited are ignored. */
  private static void send(String signal, Collection<Long> pids) {
    if (pids.isEmpty()) {
      return;
    }
    List<String> command = new ArrayList<>(List.of("kill", "-" + signal));
    pids.forEach(pid -> command.add(Long.toString(pid)));
    try {
      new ProcessBuilder(command)
          .redirectErrorStream(true)
          .redirectOutput(ProcessBuilder.Redirect.DISCARD)
          .start()
          .waitFor();
    } catch (IOException e) {
      throw new IllegalStateException("Cannot send a signal: " + e.getMessage(), e);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }
}
