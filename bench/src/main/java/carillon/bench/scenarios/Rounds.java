package carillon.bench.scenarios;

import static java.util.Comparator.comparingDouble;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.systems.Contender;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** A scenario of several rounds, of which the median counts: single rounds differ by a tenth. */
interface Rounds<C extends Contender> extends Scenario<C> {

  /** No further round is started after this time. */
  Duration ENOUGH = Duration.ofSeconds(30);

  void warmUp(C contender, Stage stage) throws IOException, SQLException, InterruptedException;

  Figures round(C contender, Stage stage) throws IOException, SQLException, InterruptedException;

  @Override
  default Figures run(C contender, Stage stage)
      throws IOException, SQLException, InterruptedException {
    warmUp(contender, stage);
    List<Figures> rounds = new ArrayList<>();
    long began = System.nanoTime();
    do {
      rounds.add(round(contender, stage));
    } while (rounds.size() < stage.sizes().rounds()
        && System.nanoTime() - began < ENOUGH.toNanos());
    return median(rounds);
  }

  static Figures median(List<Figures> rounds) {
    List<Figures> byRate =
        rounds.stream().sorted(comparingDouble(round -> round.required(Metric.RATE))).toList();
    return byRate.get((byRate.size() - 1) / 2);
  }
}
