package carillon.bench.scenarios;

import carillon.bench.figures.Figures;
import carillon.bench.systems.Contender;
import java.io.IOException;
import java.sql.SQLException;

/** Measures one way of using a scheduler. */
public interface Scenario<C extends Contender> {

  Figures run(C contender, Stage stage) throws IOException, SQLException, InterruptedException;
}
