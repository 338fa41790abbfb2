package carillon.bench.soak;

import carillon.bench.figures.Sample;
import carillon.bench.report.Machine;
import carillon.bench.report.Report;
import carillon.bench.report.SoakReport;
import carillon.bench.systems.CarillonServer;
import carillon.bench.systems.Database;
import carillon.bench.systems.Directories;
import carillon.bench.systems.Postgres;
import carillon.bench.systems.Store;
import carillon.bench.systems.Systems;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.StringJoiner;
import org.jspecify.annotations.Nullable;

/**
 * One node on its own PostgreSQL under a steady load, with a snapshot held for half of the time:
 * samples what grows. Autovacuum has its default settings.
 */
public final class Soak {

  /** The part of the run during which the snapshot is held; afterwards vacuum can catch up. */
  static final double SNAPSHOT_FROM = 1 / 3.0;

  static final double SNAPSHOT_TO = 5 / 6.0;

  /** The part of the wanted tasks that must have been created: the last sample stops the load. */
  private static final double MIN_RATE = 0.98;

  /** The longest delay of a task, its retries, and a backlog. */
  private static final Duration LAST_TASKS = Duration.ofMinutes(3);

  private static final Duration POLL = Duration.ofMillis(1_100);
  private static final Map<String, String> DEFAULTS = Map.of("autovacuum_naptime", "1min");

  private static final String STATES =
      """
      SELECT count(*) AS tasks, count(*) FILTER (WHERE state = 'COMPLETED') AS completed
      FROM carillon.task
      """;

  private final SoakOptions options;
  private final String command;
  private final Path csv;
  private final List<Sample> samples = new ArrayList<>();
  private final List<String> failures = new ArrayList<>();
  private final Map<String, String> facts = new LinkedHashMap<>();

  private Soak(SoakOptions options, String command) {
    this.options = options;
    this.command = command;
    this.csv = options.out().resolve("soak.csv");
  }

  public static void main(String... arguments)
      throws IOException, InterruptedException, SQLException {
    if (List.of(arguments).contains("--help")) {
      System.out.print("Usage: " + SoakOptions.USAGE);
      return;
    }
    SoakOptions options;
    try {
      options = SoakOptions.parse(arguments);
    } catch (IllegalArgumentException e) {
      System.err.print("soak: " + e.getMessage() + "\nUsage: " + SoakOptions.USAGE);
      System.exit(2);
      return;
    }
    Runtime.getRuntime().addShutdownHook(new Thread(Soak::stopDescendants));
    new Soak(options, ("bench/soak " + String.join(" ", arguments)).strip()).run();
  }

  /** An interrupted run must not leave PostgreSQL or the node behind. */
  private static void stopDescendants() {
    ProcessHandle.current().descendants().forEach(ProcessHandle::destroy);
  }

  private void run() throws IOException, InterruptedException, SQLException {
    Directories.delete(options.directory());
    Files.createDirectories(options.directory());
    Files.createDirectories(options.out());
    Files.deleteIfExists(csv);
    facts.put("date", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString());
    facts.put("commit", Machine.commit());
    facts.put("command", "`" + command + "`");
    facts.put("machine", Machine.describe(options.directory()));
    try (Postgres postgres = Postgres.start(options.directory(), DEFAULTS)) {
      facts.put("PostgreSQL", Report.listed(postgres.settings()));
      Systems systems = new Systems(postgres, options.directory(), options.server());
      try (CarillonServer carillon = systems.carillon();
          SoakLoad load = SoakLoad.start(carillon, options.rate())) {
        soak(carillon, load);
      } catch (IOException | SQLException | RuntimeException e) {
        failures.add("stopped early: " + e); // what was sampled until then is reported
      }
    } finally {
      Directories.delete(options.directory().resolve("seed")); // keeps the logs
    }
    double minutes = options.minutes();
    SoakReport.write(
        samples, facts, failures, minutes * SNAPSHOT_FROM, minutes * SNAPSHOT_TO, options.out());
    System.out.println("Written: " + options.out().resolve("soak.md"));
    if (!failures.isEmpty()) {
      System.err.println("FAILED: " + String.join("; ", failures));
      System.exit(1);
    }
  }

  private void soak(CarillonServer carillon, SoakLoad load)
      throws IOException, SQLException, InterruptedException {
    SoakProbe probe = new SoakProbe(carillon, load);
    long began = System.nanoTime();
    Duration all = Duration.ofMillis((long) (options.minutes() * 60_000));
    Store.@Nullable Snapshot snapshot = null;
    try {
      for (long n = 1; options.every().multipliedBy(n).compareTo(all) <= 0; n++) {
        long next = began + options.every().multipliedBy(n).toNanos();
        Thread.sleep(Duration.ofNanos(Math.max(0, next - System.nanoTime())));
        double part = (System.nanoTime() - began) / (double) all.toNanos();
        if (options.every().multipliedBy(n + 1).compareTo(all) > 0) {
          load.stop(); // so that the last sample covers only the tasks that are left
        }
        add(probe.read(snapshot != null));
        if (part >= SNAPSHOT_TO && snapshot != null) {
          snapshot.close();
          snapshot = null;
        } else if (part >= SNAPSHOT_FROM && part < SNAPSHOT_TO && snapshot == null) {
          snapshot = carillon.store().holdSnapshot();
        }
      }
    } finally {
      if (snapshot != null) {
        snapshot.close();
      }
    }
    long end = System.nanoTime() + LAST_TASKS.toNanos();
    while (carillon.finished() < load.created() && System.nanoTime() < end) {
      Thread.sleep(POLL);
    }
    add(probe.read(false));
    check(carillon.store(), load);
  }

  private void add(Sample sample) throws IOException {
    StringJoiner names = new StringJoiner(",", "", "\n");
    StringJoiner values = new StringJoiner(",", "", "\n");
    sample.forEach(
        (name, value) -> {
          names.add(name);
          values.add(String.format(Locale.ROOT, "%.3f", value));
        });
    String lines = samples.isEmpty() ? names.toString() + values : values.toString();
    Files.writeString(csv, lines, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    samples.add(sample);
    System.out.println(SoakReport.line(sample));
  }

  /** Every task must have completed, and must be where it belongs. */
  private void check(Database database, SoakLoad load) throws SQLException {
    Sample states = database.row(STATES);
    double tasks = states.get("tasks");
    double completed = states.get("completed");
    facts.put("tasks", "%,.0f created, %,.0f completed".formatted(tasks, completed));
    if (load.created() < MIN_RATE * options.rate() * options.minutes() * 60) {
      failures.add("only %,d tasks were created".formatted(load.created()));
    }
    if (load.failed() > 0) {
      failures.add("%,d requests failed".formatted(load.failed()));
    } else if (tasks != load.created()) {
      failures.add("%,.0f tasks of %,d accepted ones".formatted(tasks, load.created()));
    }
    if (completed != tasks) {
      failures.add("%,.0f tasks have not completed".formatted(tasks - completed));
    }
    String misplaced = database.one("SELECT count(*) FROM carillon.misplaced_task");
    facts.put("rows of misplaced_task", misplaced);
    if (!misplaced.equals("0")) {
      failures.add(misplaced + " rows in misplaced_task");
    }
  }
}
