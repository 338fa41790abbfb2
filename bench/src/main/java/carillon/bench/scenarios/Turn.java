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
 * One system's part in a scenario whose systems alternate, so that a machine that gets faster or
 * slower meanwhile does so for all of them. It is there from the first round to the last, and has
 * nothing to do while the others are at it.
 */
public final class Turn<C extends Contender> implements AutoCloseable {

  private final String system;
  private final Contender.Start<C> start;
  private final Rounds<? super C> what;
  private final List<Figures> rounds = new ArrayList<>();
  private @Nullable C contender;

  public Turn(String system, Contender.Start<C> start, Rounds<? super C> what) {
    this.system = system;
    this.start = start;
    this.what = what;
  }

  public String system() {
    return system;
  }

  /** Starts it and warms it up. */
  public C start(Stage stage) throws IOException, SQLException, InterruptedException {
    C started = start.start();
    contender = started;
    what.warmUp(started, stage);
    return started;
  }

  public void round(Stage stage) throws IOException, SQLException, InterruptedException {
    rounds.add(what.round(requireNonNull(contender), stage));
  }

  public Store store() {
    return requireNonNull(contender).store();
  }

  public Figures middle() {
    return Rounds.middle(rounds);
  }

  /** Stops it if it was started. */
  @Override
  public void close() throws IOException, SQLException {
    if (contender != null) {
      contender.close();
      contender = null;
    }
  }
}
