package carillon.bench.report;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;

/** Describes the machine and the commit of a run. */
public final class Machine {

  private static final int SYNCS = 101;

  private Machine() {}

  public static String describe(Path directory) throws IOException {
    return "%d cores (%s), %s GB, Linux %s, Java %s, fdatasync %.0f µs"
        .formatted(
            Runtime.getRuntime().availableProcessors(),
            field("/proc/cpuinfo", "model name"),
            Long.parseLong(field("/proc/meminfo", "MemTotal").replace(" kB", "")) >> 20,
            System.getProperty("os.version"),
            Runtime.version().feature(),
            syncMicros(directory));
  }

  private static String field(String file, String name) throws IOException {
    return Files.readAllLines(Path.of(file)).stream()
        .filter(line -> line.startsWith(name))
        .map(line -> line.substring(line.indexOf(':') + 1).strip())
        .findFirst()
        .orElse("?");
  }

  /** The median time to write 8 kB durably, which every commit waits for. */
  private static double syncMicros(Path directory) throws IOException {
    Path file = directory.resolve("sync");
    double[] micros = new double[SYNCS];
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
      for (int i = 0; i < SYNCS; i++) {
        channel.write(ByteBuffer.allocate(8192), 0);
        long began = System.nanoTime();
        channel.force(false);
        micros[i] = (System.nanoTime() - began) / 1e3;
      }
    }
    Files.delete(file);
    Arrays.sort(micros);
    return micros[SYNCS / 2];
  }

  /** The commit of the work tree, with {@code -dirty} if it has changes. */
  public static String commit() throws IOException, InterruptedException {
    Process git =
        new ProcessBuilder("git", "describe", "--always", "--dirty", "--exclude=*")
            .redirectErrorStream(true)
            .start();
    String output = new String(git.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    return git.waitFor() == 0 ? output : "unknown";
  }
}
