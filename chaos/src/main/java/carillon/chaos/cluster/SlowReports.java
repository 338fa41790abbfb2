package carillon.chaos.cluster;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * Makes the reports of one worker outlast its leases. A trigger blocks them after they have locked
 * their tasks, until another transaction waits for them or the reaper has had time to look for
 * expired claims. Installed before there is any load, because it locks {@code carillon.task}.
 */
public final class SlowReports {

  /** The name of the worker. */
  public static final String WORKER = "outlasting";

  private static final String TRIGGER =
      """
      /* SlowReports.install */
      CREATE FUNCTION chaos.outlast() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
          WHILE clock_timestamp() < OLD.lease_until + interval '2 s' -- the reaper runs every second
              AND NOT EXISTS (
                  SELECT FROM pg_locks
                  WHERE NOT granted
                    AND transactionid = pg_current_xact_id()::xid)
          LOOP
              PERFORM pg_sleep(0.02);
          END LOOP;
          RETURN NULL;
      END
      $$;
      CREATE TRIGGER outlast AFTER UPDATE ON carillon.task
          FOR EACH ROW
          WHEN (OLD.leased_by = '%s' AND OLD.state = 'RUNNING' AND NEW.state = 'COMPLETED')
          EXECUTE FUNCTION chaos.outlast();
      """
          .formatted(WORKER);

  private SlowReports() {}

  static void install(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(TRIGGER);
    }
  }
}
