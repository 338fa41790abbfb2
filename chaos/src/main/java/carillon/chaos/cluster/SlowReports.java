package carillon.chaos.cluster;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * Makes the reports of one worker outlast its leases. A trigger blocks them after they have locked
 * their tasks, until another transaction waits for them or the reaper has had time to look for
 * expired claims. Installed after the witness, which knows the leases, and before there is any
 * load, because it locks {@code carillon.task}.
 */
public final class SlowReports {

  /** The name of the worker. */
  public static final String WORKER = "outlasting";

  private static final String TRIGGER =
      """
      /* SlowReports.install */
      CREATE FUNCTION chaos.outlast() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
          lease_end timestamptz := (SELECT h.lease_until
                                    FROM chaos.held h
                                    WHERE h.tenant = NEW.tenant
                                      AND h.task = NEW.id
                                      AND h.fence = NEW.fence
                                    LIMIT 1);
      BEGIN
          WHILE clock_timestamp() < lease_end + interval '2 s' -- the reaper runs every second
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
          WHEN (OLD.state = 'PENDING' AND NEW.state = 'COMPLETED' AND NEW.leased_by = '%s')
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
