package carillon.chaos.mutants;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Delays commits of transactions that create tasks, so that their responses precede the commit. */
public final class ResponseBeforeCommit {

  private static final long DELAY_MILLIS = 80;
  private static final Set<String> CREATING =
      Set.of("carillon.store.db.Combiner", "carillon.store.catalog.Replies");
  private static final Map<Object, Boolean> PENDING = new ConcurrentHashMap<>();

  private ResponseBeforeCommit() {}

  public static void commit(Object connection) throws SQLException {
    Connection open = (Connection) connection;
    if (!isCreating()) {
      open.commit();
      return;
    }
    PENDING.put(open, true);
    Thread.ofPlatform()
        .daemon()
        .start(
            () -> {
              try (open) {
                Thread.sleep(DELAY_MILLIS);
                open.commit();
              } catch (InterruptedException | SQLException e) {
                // acknowledged and never committed, as this mutant intends
              } finally {
                PENDING.remove(open);
              }
            });
  }

  public static void close(Object connection) throws SQLException {
    if (!PENDING.containsKey(connection)) {
      ((Connection) connection).close();
    }
  }

  private static boolean isCreating() {
    return StackWalker.getInstance()
        .walk(frames -> frames.anyMatch(frame -> CREATING.contains(frame.getClassName())));
  }
}
