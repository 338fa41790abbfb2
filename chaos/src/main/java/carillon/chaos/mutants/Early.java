package carillon.chaos.mutants;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Lets a transaction that creates tasks be answered a while before it is committed. */
public final class Early {

  private static final long MILLIS = 80;
  private static final Set<String> CREATING =
      Set.of("carillon.store.db.Combiner", "carillon.store.catalog.Replies");
  private static final Map<Object, Boolean> PENDING = new ConcurrentHashMap<>();

  private Early() {}

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
                Thread.sleep(MILLIS);
                open.commit();
              } catch (InterruptedException | SQLException e) {
                // Acknowledged, and never committed: what this mutant is for.
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
