package carillon.app.postgres;

import carillon.cli.CommandFailed;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The file in which a PostgreSQL server of a data directory writes its process id and state. */
final class PidFile {

  /** Larger than any process id. */
  private static final int NO_PROCESS = Integer.MAX_VALUE;

  private final Path cluster;
  private final Path file;

  /**
   * @param cluster the data directory of the server
   */
  PidFile(Path cluster) {
    this.cluster = cluster;
    this.file = cluster.resolve("postmaster.pid");
  }

  /**
   * Clears the process id in a file that outlived its server: it may now be another process's,
   * which PostgreSQL would take for a running server. The file is not deleted: its other lines let
   * PostgreSQL see whether processes of the dead server still use the shared memory.
   */
  void disown() throws IOException {
    List<String> lines = lines();
    if (!lines.isEmpty()) {
      lines.set(0, Integer.toString(NO_PROCESS));
      Files.write(file, lines);
    }
  }

  private List<String> lines() {
    try {
      return new ArrayList<>(Files.readAllLines(file));
    } catch (NoSuchFileException _) {
      return List.of();
    } catch (IOException e) {
      throw new CommandFailed("cannot read " + file + ": " + CommandFailed.reason(e));
    }
  }

  /** The process in the pid file; 0 if there is none. */
  long pid() {
    return pid(lines());
  }

  private static long pid(List<String> lines) {
    try {
      return lines.isEmpty() ? 0 : Long.parseLong(lines.getFirst().strip());
    } catch (NumberFormatException _) {
      return NO_PROCESS;
    }
  }

  /** Whether the server has reported that it is ready, in the eighth line. */
  boolean isReady() {
    List<String> lines = lines();
    // Both from one read: the server may replace the file of an earlier one at any moment.
    return lines.size() >= 8 && lines.get(7).strip().equals("ready") && pid(lines) != NO_PROCESS;
  }

  /** Checks the pid file first: the process may stay as a zombie. */
  boolean isRunning(long pid) {
    return Files.exists(file) && ProcessHandle.of(pid).map(ProcessHandle::isAlive).orElse(false);
  }

  /** Whether the process is the server of this directory, not a later one with the same pid. */
  boolean isOurs(long pid) throws IOException {
    ProcessHandle process = ProcessHandle.of(pid).orElse(null);
    if (process == null) {
      return false;
    }
    Path workingDirectory = Path.of("/proc", Long.toString(pid), "cwd");
    if (Files.exists(workingDirectory)) {
      return isPostgres(process.info().command().orElse(null))
          && Files.isSameFile(workingDirectory, cluster);
    }
    return process
        .info()
        .commandLine()
        .filter(line -> line.contains(cluster.toString()))
        .isPresent();
  }

  /** If the binary was deleted, the system appends that to the name. */
  private static boolean isPostgres(@Nullable String command) {
    return command != null && command.replace(" (deleted)", "").endsWith("/postgres");
  }
}
