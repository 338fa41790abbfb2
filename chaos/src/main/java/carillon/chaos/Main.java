package carillon.chaos;

import carillon.chaos.history.History;
import carillon.chaos.mutants.Mutant;
import carillon.chaos.mutants.Mutants;
import carillon.chaos.report.Report;
import carillon.chaos.report.Seed;
import carillon.chaos.rules.Verdict;
import carillon.chaos.rules.Violation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Runs what the command line asks for, one seed after the other, and says what came of it. */
public final class Main {

  private static final Path ROOT = Path.of(".").toAbsolutePath().normalize();
  private static final Path BINARIES = ROOT.resolve("chaos/target/postgres-bin");
  private static final Duration LIVENESS = Duration.ofSeconds(15);
  private static final int BESIDE_FAULTS_SECONDS = 55;
  private static final int MUTANTS_SECONDS = 140;
  private static final int JOIN_NODES = 2;

  private final Options options;
  private final Path directory;
  private final String command;
  private final Progress progress;
  private final long began = System.nanoTime();

  private Main(Options options, Path directory, String arguments) {
    this.options = options;
    this.directory = directory;
    this.command = ("chaos/run " + arguments).strip();
    long seeds = (long) options.seeds().size() * (options.seconds() + BESIDE_FAULTS_SECONDS);
    this.progress =
        new Progress(
            System.err,
            Boolean.getBoolean("chaos.terminal"),
            seeds + (options.joins() || mutants(options).isEmpty() ? 0 : MUTANTS_SECONDS));
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
      mutants(options);
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
    Processes.endAll();
    if (options.keep() == null) {
      Directories.delete(directory);
    }
  }

  private static List<Mutant> mutants(Options options) {
    List<String> names = options.mutants();
    if (names.equals(List.of(Options.NONE))) {
      return List.of();
    }
    if (names.equals(List.of(Options.ALL))) {
      return Mutants.ALL;
    }
    List<Mutant> mutants = new ArrayList<>();
    for (String name : names) {
      mutants.add(
          Mutants.named(name)
              .orElseThrow(() -> new IllegalArgumentException("there is no mutant " + name)));
    }
    return mutants;
  }

  private int run() throws IOException, InterruptedException, SQLException {
    List<Seed> seeds = new ArrayList<>();
    Map<String, String> facts = Map.of();
    for (long number : options.seeds()) {
      String name = Long.toUnsignedString(number);
      progress.title("seed " + name);
      Path place = Files.createDirectories(directory.resolve("seed-" + name));
      try (Postgres postgres = Postgres.start(place, BINARIES)) {
        facts = facts(postgres);
        History history = Run.of(scenario(number), postgres, place, progress);
        Seed seed = Seed.of(number, history);
        seeds.add(seed);
        progress.done(seed.verdict().failures().size() + " violations");
      }
    }
    Exposure exposure = Exposure.of(seeds.stream().map(Seed::history).toList());
    Report report = new Report(facts, seeds, exposure, trials(), took());
    report.write(options.out());
    tell(report);
    return report.verdict().status();
  }

  private Scenario scenario(long seed) throws IOException {
    Cluster.Settings settings = Cluster.Settings.of(Program.built(ROOT));
    if (options.oldProgram() != null) {
      settings = settings.withOldProgram(Program.of(options.oldProgram()));
    }
    return Scenario.ofSeed(
        seed, settings, Load.Profile.USUAL, Duration.ofSeconds(options.seconds()), LIVENESS);
  }

  /** Everything that was chosen, not only the seeds. */
  private Map<String, String> facts(Postgres postgres)
      throws IOException, InterruptedException, SQLException {
    Map<String, String> facts = Place.facts(command, postgres.version());
    facts.put("options", options.toString());
    facts.put("load", Load.Profile.USUAL.toString());
    facts.put("nodes", "3 with a lease of 3 s" + (options.oldProgram() == null ? "" : ", one old"));
    System.out.println(facts);
    return facts;
  }

  private List<Trials.Trial> trials() throws IOException, InterruptedException {
    List<Mutant> mutants = mutants(options);
    if (mutants.isEmpty()) {
      return List.of();
    }
    progress.title("mutants");
    Path place = Files.createDirectories(directory.resolve("mutants"));
    try (Postgres postgres = Postgres.start(place, BINARIES)) {
      List<Trials.Trial> trials = new Trials(ROOT, place, postgres, progress).of(mutants);
      long passed = trials.stream().filter(Trials.Trial::isPassed).count();
      progress.done(passed + " of " + trials.size() + " as they should be");
      return trials;
    }
  }

  private void tell(Report report) {
    report
        .exposure()
        .counts()
        .forEach(
            (counter, count) ->
                System.out.printf("%-60s %7d of %d%n", counter.title(), count, counter.minimum()));
    for (Seed seed : report.seeds()) {
      seed.verdict().failures().stream()
          .limit(20)
          .map(Violation::toString)
          .forEach(System.out::println);
    }
    for (Trials.Trial trial : report.trials()) {
      if (!trial.isPassed()) {
        System.out.println("not as it should be: " + trial.name() + " " + trial.trouble());
      }
    }
    System.out.println(report.verdict() + "; see " + options.out().resolve("latest.md"));
  }

  private Duration took() {
    return Duration.ofNanos(System.nanoTime() - began);
  }

  /** Lets nodes join and leave instead of breaking them. */
  private int join() throws IOException, InterruptedException, SQLException {
    long seed = options.seeds().getFirst();
    progress.title("joins");
    Duration length = Duration.ofSeconds(options.seconds());
    Joins joins = new Joins(length, new Streams(seed).of("joins"), progress);
    Cluster.Settings settings =
        Cluster.Settings.of(Program.built(ROOT)).with(JOIN_NODES, List.of());
    try (Postgres postgres = Postgres.start(directory, BINARIES)) {
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
              length.toSeconds(),
              Place.facts(command, postgres.version()));
      Files.createDirectories(options.out());
      Files.writeString(options.out().resolve("joins.md"), report.page());
      progress.done(report.isGood() ? "all is well" : "NOT WELL");
      System.out.print(report.page());
      return report.isGood() ? 0 : 1;
    }
  }
}
