package carillon.chaos;

import carillon.chaos.cluster.Cluster;
import carillon.chaos.cluster.Directories;
import carillon.chaos.cluster.Postgres;
import carillon.chaos.cluster.Processes;
import carillon.chaos.cluster.Program;
import carillon.chaos.cluster.Progress;
import carillon.chaos.history.History;
import carillon.chaos.load.Load;
import carillon.chaos.load.RandomStreams;
import carillon.chaos.mutants.Mutant;
import carillon.chaos.mutants.Mutants;
import carillon.chaos.report.Exposure;
import carillon.chaos.report.Report;
import carillon.chaos.report.RunFacts;
import carillon.chaos.report.Seed;
import carillon.chaos.report.Trial;
import carillon.chaos.report.ViolationListing;
import carillon.chaos.rules.Findings;
import carillon.chaos.rules.Violation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Executes what the command line asks for, and prints and writes the results. */
public final class Main {

  private static final Path ROOT = Path.of(".").toAbsolutePath().normalize();
  private static final Path BINARIES = ROOT.resolve("chaos/target/postgres-bin");
  private static final Duration LIVENESS = Duration.ofSeconds(11); // two windows of R19
  private static final int OVERHEAD_SECONDS = 50;
  private static final int MUTANTS_SECONDS = 120;
  private static final int JOIN_NODES = 2;

  /** Whether the run passed, so that its directory can be deleted. */
  private static volatile boolean hasPassed;

  private final Options options;
  private final Path directory;
  private final Progress progress;
  private final long began = System.nanoTime();
  private final Map<String, String> facts;

  private Main(Options options, Path directory, String arguments)
      throws IOException, InterruptedException {
    this.options = options;
    this.directory = directory;
    this.facts = facts(options, arguments);
    long seeds = (long) options.seeds().size() * (options.seconds() + OVERHEAD_SECONDS);
    this.progress =
        new Progress(
            System.err,
            Boolean.getBoolean("chaos.terminal"),
            seeds + (options.joins() || mutants(options).isEmpty() ? 0 : MUTANTS_SECONDS));
  }

  /** Facts for the report. Runs with joining nodes have other nodes and another load. */
  private static Map<String, String> facts(Options options, String arguments)
      throws IOException, InterruptedException {
    Map<String, String> facts = RunFacts.facts(("chaos/run " + arguments).strip());
    if (!options.joins()) {
      String old = options.oldProgram() == null ? "" : ", one old";
      facts.put("options", options.description());
      facts.put("load", Load.Profile.USUAL.toString());
      facts.put("nodes", "3 with a lease of 3 s" + old);
    }
    return facts;
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
    Runtime.getRuntime().addShutdownHook(new Thread(() -> cleanUp(options, directory)));
    Main main = new Main(options, directory, Options.withoutPaths(arguments));
    int status = options.joins() ? main.join() : main.run();
    hasPassed = status == 0;
    System.exit(status);
  }

  /** Kills all processes, also if the run is interrupted. */
  private static void cleanUp(Options options, Path directory) {
    Processes.killAll();
    if (options.keep() == null && hasPassed) {
      Directories.delete(directory);
    } else {
      System.err.println("The files of the run are in " + directory);
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
              .orElseThrow(() -> new IllegalArgumentException("There is no mutant " + name + ".")));
    }
    return mutants;
  }

  private int run() throws IOException, InterruptedException {
    System.out.println(facts);
    Report.clear(options.out());
    List<Seed> seeds = new ArrayList<>();
    List<String> errors = new ArrayList<>();
    for (long number : options.seeds()) {
      attempt("seed " + Long.toUnsignedString(number), errors, () -> seeds.add(seed(number)));
    }
    List<Trial> trials = new ArrayList<>();
    attempt("mutants", errors, () -> trials.addAll(trials()));
    Exposure exposure = Exposure.of(seeds.stream().map(Seed::history).toList());
    Report report = new Report(facts, seeds, exposure, trials, errors, took());
    report.write(options.out());
    print(report);
    return report.verdict().status();
  }

  /** A part of the work. If it fails, the results of the other parts are still reported. */
  private interface Part {
    void run() throws IOException, SQLException, InterruptedException;
  }

  private void attempt(String title, List<String> errors, Part part) throws InterruptedException {
    progress.title(title);
    try {
      part.run();
    } catch (IOException | SQLException | RuntimeException | Error e) {
      errors.add(title + " did not finish: " + e);
      progress.done(String.valueOf(e));
    }
  }

  private Seed seed(long number) throws IOException, SQLException, InterruptedException {
    Path place =
        Files.createDirectories(directory.resolve("seed-" + Long.toUnsignedString(number)));
    try (Postgres postgres = Postgres.start(place, BINARIES)) {
      facts.put("PostgreSQL", postgres.version());
      Seed seed = Seed.of(number, Run.of(scenario(number), postgres, place, progress));
      progress.done(seed.findings().failures().size() + " violations");
      return seed;
    }
  }

  private Scenario scenario(long seed) throws IOException {
    Cluster.Settings settings = Cluster.Settings.of(Program.built(ROOT));
    if (options.oldProgram() != null) {
      settings = settings.withOldProgram(Program.of(options.oldProgram()));
    }
    return Scenario.ofSeed(
        seed, settings, Load.Profile.USUAL, Duration.ofSeconds(options.seconds()), LIVENESS);
  }

  private List<Trial> trials() throws IOException, InterruptedException {
    List<Mutant> mutants = mutants(options);
    if (mutants.isEmpty()) {
      return List.of();
    }
    Path place = Files.createDirectories(directory.resolve("mutants"));
    try (Postgres postgres = Postgres.start(place, BINARIES)) {
      List<Trial> trials = new Trials(ROOT, place, BINARIES, postgres, progress).of(mutants);
      long passed = trials.stream().filter(Trial::isPassed).count();
      progress.done(passed + " of " + trials.size() + " passed");
      return trials;
    }
  }

  private void print(Report report) {
    report
        .exposure()
        .counts()
        .forEach(
            (counter, count) ->
                System.out.printf("%-64s %7d of %d%n", counter.title(), count, counter.minimum()));
    for (Seed seed : report.seeds()) {
      seed.findings().failures().stream()
          .limit(20)
          .map(Violation::toString)
          .forEach(System.out::println);
    }
    for (Trial trial : report.trials()) {
      if (!trial.isPassed()) {
        System.out.println("not passed: " + trial.name() + " " + trial.problem());
      }
    }
    System.out.println(report.verdict() + "; see " + options.out().resolve("latest.md"));
  }

  private Duration took() {
    return Duration.ofNanos(System.nanoTime() - began);
  }

  /** Executes a run in which nodes join and leave instead of failing. */
  private int join() throws IOException, InterruptedException, SQLException {
    long seed = options.seeds().getFirst();
    progress.title("joins");
    Duration length = Duration.ofSeconds(options.seconds());
    Joins joins = new Joins(length, new RandomStreams(seed).of("joins"), progress);
    Cluster.Settings settings =
        Cluster.Settings.of(Program.built(ROOT)).with(JOIN_NODES, List.of());
    try (Postgres postgres = Postgres.start(directory, BINARIES)) {
      facts.put("PostgreSQL", postgres.version());
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
              joins.changes(), history, Findings.of(history), length.toSeconds(), facts);
      Files.createDirectories(options.out());
      Files.writeString(options.out().resolve("joins.md"), report.page());
      if (!report.isPassed()) {
        Files.writeString(
            options.out().resolve("violations.md"),
            ViolationListing.of("Joins", history, report.findings().failures()));
      }
      progress.done(report.isPassed() ? "OK" : "FAILED");
      System.out.print(report.page());
      return report.isPassed() ? 0 : 1;
    }
  }
}
