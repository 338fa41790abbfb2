package carillon.store;

import carillon.model.Term;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.HikariPoolMXBean;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A pool of connections to PostgreSQL, every one of them with timeouts, and transactions on it. */
public final class Db implements AutoCloseable {

  private static final int MAX_TRIES = 6;

  /**
   * Without these the planner flips to a sequential scan or a hash join per batch when its
   * statistics are stale; every hot statement has an index and a plan test. And it would start
   * parallel workers, which takes longer than any of our statements, where it expects many rows.
   * With these left, one plan is as good for one task as for thousands, so it is made once:
   * planning a claim of one task takes longer than the claim.
   */
  private static final String INDEX_PLANS =
      " -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c jit=off"
          + " -c max_parallel_workers_per_gather=0 -c plan_cache_mode=force_generic_plan";

  private static final String TIMEOUTS =
      " -c lock_timeout=2s -c idle_in_transaction_session_timeout=10s -c" + " timezone=UTC";

  private final HikariDataSource pool;
  private final @Nullable Supplier<Optional<Term>> leading; // null: anybody may use it
  private final LongAdder staleTerms = new LongAdder();

  private Db(HikariDataSource pool, @Nullable Supplier<Optional<Term>> leading) {
    this.pool = pool;
    this.leading = leading;
  }

  /**
   * Where the database is.
   *
   * @param url a JDBC URL without user and password
   */
  public record Address(String url, String user, @Nullable String password) {}

  /** Opens a pool; nothing is connected before the first use. */
  public static Db open(Address address, String name, int connections) {
    return open(address, name, connections, Duration.ofSeconds(5));
  }

  /**
   * Opens a pool for statements that must not take longer than this.
   *
   * @param patience for a statement; a server that is gone or frozen is given up after three times
   *     as long
   */
  public static Db open(Address address, String name, int connections, Duration patience) {
    var config = new HikariConfig();
    config.setPoolName(name);
    config.setJdbcUrl(address.url());
    config.setUsername(address.user());
    config.setPassword(address.password());
    config.setMaximumPoolSize(connections);
    config.setMinimumIdle(1);
    config.setAutoCommit(false);
    config.setConnectionTimeout(Duration.ofSeconds(3).toMillis());
    config.setValidationTimeout(Duration.ofSeconds(2).toMillis());
    config.setMaxLifetime(Duration.ofMinutes(30).toMillis());
    config.setInitializationFailTimeout(-1); // start-up checks say more than a pool would
    config.addDataSourceProperty(
        "options", "-c statement_timeout=" + patience.toMillis() + TIMEOUTS + INDEX_PLANS);
    config.addDataSourceProperty("ApplicationName", "carillon/" + name);
    config.addDataSourceProperty("connectTimeout", "3");
    // Above statement_timeout: it only ends waits for a server that is gone or frozen. The driver
    // has none by default.
    config.addDataSourceProperty(
        "socketTimeout", String.valueOf(Math.max(1, patience.multipliedBy(3).toSeconds())));
    config.addDataSourceProperty("tcpKeepAlive", "true");
    config.addDataSourceProperty("prepareThreshold", "3");
    return new Db(new HikariDataSource(config), null);
  }

  /**
   * The same pool, for the leader alone: every transaction first proves that the term goes on, and
   * fails with {@link StoreException#isStaleTerm} if it does not. A takeover waits for those that
   * have proved it, so none is committed in a later term.
   */
  public Db onlyWhile(Supplier<Optional<Term>> leading) {
    return new Db(pool, leading);
  }

  /** Transactions that were refused because their term was over. */
  public long staleTerms() {
    return staleTerms.sum();
  }

  /**
   * Runs the work in one transaction, again from the start when another transaction was in the way
   * or the connection was lost before the commit. So the work may run several times; what must
   * happen once goes to {@link Tx#afterCommit}.
   */
  public <T> T inTransaction(Function<Tx, T> work) {
    for (int tries = 1; ; tries++) {
      try {
        Committed<T> done = once(work);
        done.tx().committed();
        return done.value();
      } catch (NotCommitted e) {
        if (!e.mayRunAgain() || tries == MAX_TRIES) {
          throw e.failure;
        }
        LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(1_000_000L << tries));
      }
    }
  }

  private record Committed<T>(Tx tx, T value) {}

  /** The work failed before its commit was asked for, so nothing of it was done. */
  private static final class NotCommitted extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private final StoreException failure;

    NotCommitted(StoreException failure) {
      super(null, failure, false, false);
      this.failure = failure;
    }

    boolean mayRunAgain() {
      return failure.isBusy() || failure.isLostConnection();
    }
  }

  private <T> Committed<T> once(Function<Tx, T> work) {
    try (Connection connection = pool.getConnection()) {
      Tx tx = new Tx(connection);
      T value;
      try {
        proveLeading(tx);
        value = work.apply(tx);
      } catch (StoreException e) {
        rollBack(connection, e);
        throw new NotCommitted(e);
      } catch (RuntimeException | Error e) {
        rollBack(connection, e);
        throw e;
      }
      connection.commit();
      return new Committed<>(tx, value);
    } catch (SQLException e) {
      throw new StoreException("transaction failed: " + e.getMessage(), stateOf(e), e);
    }
  }

  private void proveLeading(Tx tx) {
    if (leading == null) {
      return;
    }
    Optional<Term> term = leading.get();
    if (term.isEmpty() || !Leadership.isHeld(tx, term.get())) {
      staleTerms.increment();
      throw StoreException.staleTerm(term);
    }
  }

  private static void rollBack(Connection connection, Throwable cause) {
    try {
      connection.rollback();
    } catch (SQLException e) {
      cause.addSuppressed(e); // the connection is broken: the pool throws it away
    }
  }

  /**
   * A pool that gave no connection in time reports no state of its own; for callers that is an
   * unreachable server.
   */
  private static String stateOf(SQLException e) {
    return e.getSQLState() == null ? "08000" : e.getSQLState();
  }

  /** Connections in use, idle, and callers that wait for one. */
  public PoolStats stats() {
    HikariPoolMXBean bean = pool.getHikariPoolMXBean();
    return bean == null
        ? new PoolStats(0, 0, 0)
        : new PoolStats(
            bean.getActiveConnections(),
            bean.getIdleConnections(),
            bean.getThreadsAwaitingConnection());
  }

  /** How busy a pool is. */
  public record PoolStats(int active, int idle, int pending) {}

  @Override
  public void close() {
    pool.close();
  }
}
