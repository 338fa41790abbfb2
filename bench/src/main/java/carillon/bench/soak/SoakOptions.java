package carillon.bench.soak;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The options of the command line.
 *
 * @param rate tasks created per second
 * @param every the time between two samples
 * @param server additional options for {@code ./carillon server}
 * @param directory where the database goes, in a directory of its own
 * @param out where results go
 */
record SoakOptions(
    double minutes, int rate, Duration every, List<String> server, Path directory, Path out) {

  private static final double MINUTES = 60;
  private static final int RATE = 5_000;
  private static final int EVERY_SECONDS = 15;

  static final String USAGE =
      """
      bench/soak [--minutes 60] [--rate 5000] [--every 15] [--server "--concurrency 4096"]
                 [--dir DIR] [--out DIR]
      Creates --rate tasks a second and samples every --every seconds. The database goes to the
      directory soak of --dir, bench/target by default, and is removed at the end: 1 to 1.5 kB per
      task, so up to 27 GB in an hour, and 8 GB of log. The results of a run of an hour at the usual
      rate go to bench/results, all others to bench/target/results: soak.md, soak.csv and soak.svg.
      """;

  static SoakOptions parse(String... arguments) {
    double minutes = MINUTES;
    int rate = RATE;
    int every = EVERY_SECONDS;
    List<String> server = List.of();
    Path directory = Path.of("bench/target");
    @Nullable Path out = null;
    for (int i = 0; i < arguments.length; i++) {
      switch (arguments[i]) {
        case "--minutes" -> minutes = positive(arguments, ++i);
        case "--rate" -> rate = (int) positive(arguments, ++i);
        case "--every" -> every = (int) positive(arguments, ++i);
        case "--server" -> server = List.of(value(arguments, ++i).split(" ", -1));
        case "--dir" -> directory = Path.of(value(arguments, ++i));
        case "--out" -> out = Path.of(value(arguments, ++i));
        default -> throw new IllegalArgumentException("unknown option " + arguments[i]);
      }
    }
    if (out == null) {
      boolean isFull = minutes >= MINUTES && rate == RATE && server.isEmpty();
      out = Path.of(isFull ? "bench/results" : "bench/target/results");
    }
    return new SoakOptions(
        minutes,
        rate,
        Duration.ofSeconds(every),
        server,
        directory.resolve("soak").toAbsolutePath(),
        out);
  }

  private static double positive(String[] arguments, int index) {
    double value = Double.parseDouble(value(arguments, index));
    if (value < (arguments[index - 1].equals("--minutes") ? 0.1 : 1)) {
      throw new IllegalArgumentException(arguments[index - 1] + " is too small: " + value);
    }
    return value;
  }

  private static String value(String[] arguments, int index) {
    if (index == arguments.length) {
      throw new IllegalArgumentException(arguments[index - 1] + " needs a value");
    }
    return arguments[index];
  }
}
