package carillon.bench;

import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Map;
import java.util.Random;

/** Tasks handed in ahead: how late do they start, or, all at one instant, how late do they end? */
enum OnTime implements Scenario<CarillonServer> {
  /** Spread at random: the time from due to started. */
  LATENESS {
    @Override
    Figures measure(CarillonServer carillon, Stage stage)
        throws IOException, SQLException, InterruptedException {
      long micros = stage.sizes().window().toNanos() / 1000;
      int tasks = (int) (stage.sizes().window().toSeconds() * PER_SECOND);
      Random random = new Random(42);
      Instant from = Instant.now().plus(LEAD);
      return handIn(
              carillon, stage, tasks, () -> from.plus(random.nextLong(micros), ChronoUnit.MICROS))
          .with(carillon.between("due_at", "started_at"));
    }
  },

  /** All at one instant: the time from then to finished. */
  BURST {
    @Override
    Figures measure(CarillonServer carillon, Stage stage)
        throws IOException, SQLException, InterruptedException {
      int tasks = stage.sizes().burst();
      Instant due = Instant.now().plus(LEAD).plusMillis(tasks / 10);
      Figures figures = handIn(carillon, stage, tasks, () -> due);
      return figures
          .with(Metric.RATE, tasks / carillon.seconds(tasks))
          .with(Metric.FIRST, carillon.between("due_at", "finished_at").min())
          .with(carillon.between("due_at", "finished_at"));
    }
  };

  private static final Duration LEAD = Duration.ofSeconds(3);
  private static final int PER_SECOND = 200;

  abstract Figures measure(CarillonServer carillon, Stage stage)
      throws IOException, SQLException, InterruptedException;

  @Override
  public Figures run(CarillonServer carillon, Stage stage)
      throws IOException, SQLException, InterruptedException {
    stage.warmUp(carillon);
    return measure(carillon, stage);
  }

  /** When the next task is due. */
  interface Due {
    Instant next();
  }

  private static Figures handIn(CarillonServer carillon, Stage stage, int tasks, Due due)
      throws IOException, SQLException, InterruptedException {
    stage.progress().step("loading");
    String type = carillon.newType(Map.of("target", Map.of("discard", Map.of())));
    long before = carillon.finished();
    carillon.submit(null, tasks, _ -> Tasks.task(type, ",\"dueAt\":\"" + due.next() + "\""));
    stage.progress().step("waiting");
    Meter meter = Meter.start(carillon);
    stage.await(carillon, before, tasks);
    return meter.stop(tasks);
  }
}
