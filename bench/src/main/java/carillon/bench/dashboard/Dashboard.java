package carillon.bench.dashboard;

import static java.util.Objects.requireNonNull;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.figures.Percentiles;
import carillon.bench.figures.Results;
import carillon.bench.scenarios.Proc;
import carillon.bench.scenarios.Scenario;
import carillon.bench.scenarios.Stage;
import carillon.bench.systems.CarillonServer;
import carillon.bench.systems.Database;
import carillon.bench.systems.Plans;
import carillon.bench.systems.Wire;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The dashboard next to millions of tasks: how long each request of its pages takes, and what many
 * open tabs cost the database.
 */
public final class Dashboard implements Scenario<CarillonServer> {

  public static final String NAME = "dashboard";

  /** Every request must take less than this many milliseconds. */
  static final double MAX_MILLIS = 200;

  /** Maximum cost of all streams to the database, in per cent of a core. */
  static final double MAX_CORE_PERCENT = 2;

  private static final String STREAMS = "50 open tabs";
  private static final int TABS = 50;
  private static final int REPEATS = 20;
  private static final int TASKS_PER_SECOND = 1_000;
  private static final Duration SETTLE = Duration.ofSeconds(3);

  /** About how often a person reloads a page. */
  private static final Duration PAUSE = Duration.ofMillis(2_100);

  private final Results results;
  private final Plans plans;

  /**
   * @param results where the figures of each request and of the streams go
   */
  public Dashboard(Results results, Plans plans) {
    this.results = results;
    this.plans = plans;
  }

  @Override
  public Figures run(CarillonServer carillon, Stage stage)
      throws IOException, SQLException, InterruptedException {
    Map<String, String> examples = DashboardData.load(carillon, stage);
    double worst = requestPages(carillon, stage, examples);
    stage.progress().step("explaining");
    explain(carillon, examples);
    stage.progress().step("streams without load");
    streams(carillon, stage, "idle");
    stage.progress().step("streams next to %,d tasks a second".formatted(TASKS_PER_SECOND));
    try (SteadyLoad _ = SteadyLoad.start(carillon, TASKS_PER_SECOND)) {
      Thread.sleep(SETTLE);
      streams(carillon, stage, "%,d tasks/s".formatted(TASKS_PER_SECOND));
    }
    return new Figures().with(Metric.MAX, worst).note(verdict(worst));
  }

  private static String verdict(double worst) {
    return worst < MAX_MILLIS
        ? "every request took less than %.0f ms".formatted(MAX_MILLIS)
        : "MISSED: a request took more than %.0f ms".formatted(MAX_MILLIS);
  }

  /**
   * Makes all requests one after the other, repeatedly; returns the longest time. The server caches
   * expensive counts for longer than the pause, so for these only the first request is certain to
   * query the database.
   */
  private double requestPages(CarillonServer carillon, Stage stage, Map<String, String> examples)
      throws IOException, InterruptedException {
    Map<PageRequest, long[]> took = new LinkedHashMap<>();
    PageRequest.ALL.forEach(request -> took.put(request, new long[REPEATS]));
    stage.progress().step("requesting pages");
    for (int time = 0; time < REPEATS; time++) {
      stage.progress().at(time, REPEATS);
      for (PageRequest request : List.copyOf(took.keySet())) {
        long nanos = timeRequest(carillon, request, examples);
        if (nanos < 0) {
          took.remove(request);
        } else {
          requireNonNull(took.get(request))[time] = nanos;
        }
      }
      Thread.sleep(PAUSE);
    }
    double worst = 0;
    for (Map.Entry<PageRequest, long[]> request : took.entrySet()) {
      Percentiles times = Percentiles.ofNanos(request.getValue());
      worst = Math.max(worst, times.at(100));
      results.add(
          request.getKey().page(),
          request.getKey().path(),
          new Figures()
              .with(Metric.FIRST, request.getValue()[0] / 1e6)
              .with(Metric.P50, times.at(50))
              .with(Metric.MAX, times.at(100)));
    }
    return worst;
  }

  /** Returns the time it took in nanoseconds, or -1 if it failed. */
  private long timeRequest(
      CarillonServer carillon, PageRequest request, Map<String, String> examples)
      throws IOException {
    try (Wire wire = carillon.wire(null)) {
      long began = System.nanoTime();
      wire.get(request.path(examples));
      return System.nanoTime() - began;
    } catch (IOException e) {
      results.failed(request.page(), request.path(), String.valueOf(e.getMessage()));
      return -1;
    }
  }

  private void explain(CarillonServer carillon, Map<String, String> examples)
      throws IOException, SQLException, InterruptedException {
    plans.begin(carillon.store());
    Thread.sleep(SETTLE); // so that background statements do not count as part of a request
    plans.skipLogged();
    try (Wire wire = carillon.wire(null)) {
      for (PageRequest request : PageRequest.ALL) {
        try {
          wire.get(request.path(examples));
        } catch (IOException _) {
          continue; // already reported as failed
        }
        plans.record("GET " + request.path());
      }
    } finally {
      plans.end(carillon.store());
    }
  }

  /** Measures without, with, and without streams again, to cancel out drift. */
  private void streams(CarillonServer carillon, Stage stage, String load)
      throws SQLException, InterruptedException {
    Duration span = stage.sizes().watching();
    DatabaseLoad before = DatabaseLoad.during(carillon.store(), span);
    DatabaseLoad with;
    double events;
    try (Streams streams = Streams.open(carillon, TABS)) {
      Thread.sleep(SETTLE);
      long already = streams.events();
      with = DatabaseLoad.during(carillon.store(), span);
      events = (streams.events() - already) / (double) span.toSeconds();
      streams.check();
    } catch (IOException e) {
      results.failed(STREAMS, load, String.valueOf(e.getMessage()));
      return;
    }
    Thread.sleep(SETTLE);
    DatabaseLoad after = DatabaseLoad.during(carillon.store(), span);
    double without = (before.core() + after.core()) / 2;
    results.add(
        STREAMS,
        load,
        new Figures()
            .with(Metric.WITHOUT, without)
            .with(Metric.WITH, with.core())
            .with(Metric.DIFFERENCE, with.core() - without)
            .with(Metric.STATEMENTS_WITHOUT, (before.statements() + after.statements()) / 2)
            .with(Metric.STATEMENTS_WITH, with.statements())
            .with(Metric.EVENTS, events)
            .note(
                "without streams %.2f %% before and %.2f %% after"
                    .formatted(before.core(), after.core())));
  }

  /**
   * The database's work during a measurement.
   *
   * @param core CPU of all its processes, in per cent of a core
   * @param statements per second
   */
  private record DatabaseLoad(double core, double statements) {

    static DatabaseLoad during(Database database, Duration span)
        throws SQLException, InterruptedException {
      double statements = database.statements();
      double cpu = Proc.cpuOfTree(database.pid());
      long began = System.nanoTime();
      Thread.sleep(span);
      double seconds = (System.nanoTime() - began) / 1e9;
      double core = (Proc.cpuOfTree(database.pid()) - cpu) * 100 / seconds;
      return new DatabaseLoad(core, (database.statements() - statements) / seconds);
    }
  }
}
