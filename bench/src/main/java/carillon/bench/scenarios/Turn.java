package carillon.bench.scenarios;

import static java.util.Objects.requireNonNull;

import carillon.bench.figures.Figures;
import carillon.bench.systems.Contender;
import carillon.bench.systems.Store;
import java.io.IOException;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One system in a scenario whose systems alternate, so that drift of the machine affects all of
 * them. The system runs from the first round to the last and is idle during the rounds of the
 * others.
 */
public final class Turn<C extends Contender> implements AutoCloseable {

  private final String system;
  private final Contender.Start<C> start;
  private final Rounds<? super C> scenario;
  private final List<Figures> rounds = new ArrayList<>();
  private @Nullable C contender;

  public Turn(String system, Contender.Start<C> start, Rounds<? super C> scenario) {
    this.system = system;
    this.start = start;
    this.scenario = scenario;
  }

  public String system() {
    return system;
  }

  /** Starts the system and warms it up. */
  public C start(Stage stage) throws IOException, SQLException, InterruptedException {
    C started = start.start();
    contender = started;
    scenario.warmUp(started, stage);
    return started;
  }

  public void round(Stage stage) throws IOException, SQLException, InterruptedException {
    rounds.add(scenario.round(requireNonNull(contender), stage));
  }

  public Store store() {
    return requireNonNull(contender).store();
  }

  public Figures median() {
    return Rounds.median(rounds);
  }

  /** Stops the system if it was started. */
  @Override
  public void close() throws IOException, SQLException {
    if (contender != null) {
      contender.close();
      contender = null;
    }
  }
}
