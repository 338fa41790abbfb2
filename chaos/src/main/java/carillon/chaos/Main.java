package carillon.chaos;

import carillon.chaos.history.History;
import carillon.chaos.rules.Verdict;
import carillon.chaos.rules.Violation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Runs what the command line asks for, one seed after the other, and says what came of it. */
public final class Main {

  private static final Path ROOT = Path.of(".").toAbsolutePath().normalize();
  private static final Path BINARIES = ROOT.resolve("chaos/target/postgres-bin");
  private static final Duration LIVENESS = Duration.ofSeconds(15);

  private final Options options;
  private final Path directory;
  private final String command;
  private final Progress progress;

  private Main(Options options, Path directory, String arguments) {
    this.options = options;
    this.directory = directory;
    this.command = ("chaos/run " + arguments).strip();
    int each = options.seconds() + 60;
    this.progress =
        new Progress(
            System.err,
            Boolean.getBoolean("chaos.terminal"),
            (long) options.seeds().size() * each
                + (options.mutants().contains(Options.NONE) ? 0 : 150));
  }

  public static void main(String... arguments)
      throws IOException, InterruptedException, SQLException {
    if (List.of(arguments).contains("--help")) {
      System.out.print("Usage: " + Options.USAGE);
      return;
    }
    Options options;
    try {
      options = Options.parse(arguments);
    } catch (IllegalArgumentException e) {
      System.err.print("chaos: " + e.getMessage() + "\nUsage: " + Options.USAGE);
      System.exit(2);
      return;
    }
    Path directory =
        options.keep() == null
            ? Files.createTempDirectory("carillon-chaos")
            : Files.createDirectories(options.keep());
    Runtime.getRuntime().addShutdownHook(new Thread(() -> endAll(options, directory)));
    Main main = new Main(options, directory, String.join(" ", arguments));
    System.exit(options.joins() ? main.join() : main.run());
  }

  /** Whoever stops a run would leave nodes and a PostgreSQL behind. */
  private static void endAll(Options options, Path directory) {
    List<ProcessHandle> left = ProcessHandle.current().descendants().toList();
    left.forEach(ProcessHandle::destroyForcibly);
    left.forEach(process -> process.onExit().join());
    if (options.keep() == null) {
      Directories.delete(directory);
    }
  }

  private int run() throws IOException, InterruptedException, SQLException {
    System.out.println("chaos/run " + options);
    List<History> histories = new ArrayList<>();
    boolean clean = true;
    for (long seed : options.seeds()) {
      progress.title("seed " + Long.toUnsignedString(seed));
      History history = run(seed);
      histories.add(history);
      Verdict verdict = Verdict.on(history);
      clean &= verdict.isClean();
      progress.done(verdict.failures().size() + " violations");
      verdict.failures().stream().limit(40).map(Violation::toString).forEach(System.out::println);
    }
    Exposure exposure = Exposure.of(histories);
    exposure
        .counts()
        .forEach(
            (counter, count) ->
                System.out.printf("%-60s %7d of %d%n", counter.title(), count, counter.minimum()));
    return !clean ? 1 : exposure.missing().isEmpty() ? 0 : 3;
  }

  /** Lets nodes join and leave instead of breaking them. */
  private int join() throws IOException, InterruptedException, SQLException {
    long seed = options.seeds().getFirst();
    progress.title("joins");
    Duration length = Duration.ofSeconds(options.seconds());
    Joins joins = new Joins(length, new Streams(seed).of("joins"), progress);
    Cluster.Settings settings = Cluster.Settings.of(Program.built(ROOT)).with(2, List.of());
    try (Postgres postgres = Postgres.start(directory, BINARIES)) {
      long began = System.nanoTime();
      History history =
          Run.of(
              Scenario.directed(
                  "joins", seed, settings, Load.Profile.USUAL.with(90, 30), length, List.of()),
              postgres,
              directory,
              progress,
              joins);
      JoinsReport report =
          new JoinsReport(
              joins.changes(),
              history,
              Verdict.on(history),
              Duration.ofNanos(System.nanoTime() - began).toSeconds(),
              Place.facts(command, postgres.version()));
      Files.createDirectories(options.out());
      Files.writeString(options.out().resolve("joins.md"), report.page());
      progress.done(report.isGood() ? "all is well" : "NOT WELL");
      System.out.print(report.page());
      return report.isGood() ? 0 : 1;
    }
  }

  private History run(long seed) throws IOException, InterruptedException, SQLException {
    Path place = Files.createDirectories(directory.resolve("seed-" + Long.toUnsignedString(seed)));
    Cluster.Settings settings = Cluster.Settings.of(Program.built(ROOT));
    if (options.oldProgram() != null) {
      settings = settings.withOldProgram(Program.of(options.oldProgram()));
    }
    try (Postgres postgres = Postgres.start(place, BINARIES)) {
      return Run.of(
          Scenario.ofSeed(
              seed, settings, Load.Profile.USUAL, Duration.ofSeconds(options.seconds()), LIVENESS),
          postgres,
          place,
          progress);
    }
  }
}
