package carillon.bench;

import java.io.IOException;
import java.sql.SQLException;

/** One way of using a scheduler, measured. */
interface Scenario<C extends Contender> {

  Figures run(C contender, Stage stage) throws IOException, SQLException, InterruptedException;
}
