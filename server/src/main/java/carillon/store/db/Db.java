package carillon.store.db;

import carillon.model.Signal;
import carillon.model.cluster.Term;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.HikariPoolMXBean;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A pool of connections to PostgreSQL, every one of them with timeouts, and transactions on it. */
public final class Db implements AutoCloseable {

  private static final int MAX_TRIES = 6;
  private static final Duration STATEMENT_TIMEOUT = Duration.ofSeconds(5);

  /** Fail the caller after this long without a connection. */
  private static final Duration RECONNECTING = Duration.ofSeconds(2);

  private final HikariDataSource pool;
  private final ConnectionSource source;

  /** Behind a pooler, the statement that sets a transaction's settings; null without one. */
  private final @Nullable String settings;

  private final @Nullable Supplier<Optional<Term>> leading; // null: anybody may use it
  private final Timeline timeline;
  private final Transitions transitions;
  private final LongAdder staleTerms = new LongAdder();

  private Db(
      HikariDataSource pool,
      ConnectionSource source,
      @Nullable String settings,
      @Nullable Supplier<Optional<Term>> leading,
      Timeline timeline,
      Transitions transitions) {
    this.pool = pool;
    this.source = source;
    this.settings = settings;
    this.leading = leading;
    this.timeline = timeline;
    this.transitions = transitions;
  }

  /**
   * Where the database is.
   *
   * @param url a JDBC URL without user and password
   */
  public record Address(String url, String user, @Nullable String password, Pooler pooler) {

    private static final Pattern PORT = Pattern.compile(":([0-9]{1,5})(?=[,/?]|$)");

    /** Without anything in between. */
    public Address(String url, String user, @Nullable String password) {
      this(url, user, password, Pooler.NONE);
    }

    /** The ports that the URL names; hosts without one use the driver's default. */
    public List<Integer> ports() {
      return PORT.matcher(url).results().map(found -> Integer.valueOf(found.group(1))).toList();
    }

    boolean hasSeveralHosts() {
      return url.replaceFirst("\\?.*", "").contains(",");
    }

    @Override
    public String toString() {
      return "Address[" + url + " as " + user + "]";
    }
  }

  /** Opens a pool; nothing is connected before the first use. */
  public static Db open(Address address, String name, int connections) {
    return open(
        address, new Pool(name, connections), new Timeline(new Signal()), new Transitions());
  }

  /**
   * The name and size of a pool.
   *
   * @param statementTimeout of the server; the driver gives up on a frozen server after 1.5 times
   *     as long. Default 5 s.
   */
  public record Pool(String name, int connections, Duration statementTimeout) {
    public Pool(String name, int connections) {
      this(name, connections, STATEMENT_TIMEOUT);
    }

    /**
     * Longer than statement_timeout: it only ends waits for a server that is gone or frozen. The
     * driver has none by default, and accepts whole seconds only.
     */
    Duration socketTimeout() {
      return Duration.ofSeconds(Math.ceilDiv(statementTimeout.toMillis() * 3, 2_000));
    }
  }

  /**
   * Opens a pool; nothing is connected before the first use.
   *
   * @param timeline checked by every new connection
   * @param transitions notified of commits
   */
  public static Db open(Address address, Pool size, Timeline timeline, Transitions transitions) {
    Settings settings = Settings.of(size.statementTimeout());
    boolean isPooled = address.pooler() == Pooler.TRANSACTION;
    ConnectionSource source =
        ConnectionSource.of(address, size.socketTimeout())
            .checking(timeline)
            .persisting()
            .with("ApplicationName", "carillon/" + size.name());
    if (!isPooled) {
      source = source.with("prepareThreshold", "3").with("options", settings.asOptions());
    }
    var config = new HikariConfig();
    config.setPoolName(size.name());
    config.setDataSource(source);
    config.setMaximumPoolSize(size.connections());
    config.setMinimumIdle(1);
    config.setAutoCommit(false);
    config.setConnectionTimeout(Duration.ofSeconds(3).toMillis());
    config.setValidationTimeout(Duration.ofSeconds(2).toMillis());
    config.setMaxLifetime(Duration.ofMinutes(30).toMillis());
    config.setInitializationFailTimeout(-1); // the start-up checks report errors better
    return new Db(
        new HikariDataSource(config),
        source,
        isPooled ? settings.asStatement() : null,
        null,
        timeline,
        transitions);
  }

  /**
   * A handle to the same pool for the leader: every transaction first proves that the term has not
   * ended, and fails with {@link StoreException#isStaleTerm} if it has. A takeover waits for the
   * transactions that have proved it, so none commits in a later term.
   */
  public Db onlyInTerm(Supplier<Optional<Term>> leading) {
    return new Db(pool, source, settings, leading, timeline, transitions);
  }

  /**
   * Whether no connection to a promoted standby is used before the {@link Timeline} has reported
   * it. Behind a pooler it reports it up to a second later, and on a server that does not show its
   * timeline never.
   */
  public boolean reportsFailoverFirst() {
    return settings == null && timeline.number() != Timeline.UNKNOWN;
  }

  /** The listeners of commits. */
  public Transitions transitions() {
    return transitions;
  }

  /** Transactions that were refused because their term was over. */
  public long staleTerms() {
    return staleTerms.sum();
  }

  /**
   * Runs the work in one transaction, and retries it after a conflict or a connection lost before
   * the commit. The work may run several times; actions that must happen once go to {@link
   * Tx#afterCommit}, and what the work reserves is returned with {@link Tx#onFailure}.
   */
  public <T> T inTransaction(Function<Tx, T> work) {
    return inTransaction(MAX_TRIES, work);
  }

  /** Runs a transaction without retries, for callers that retry later themselves. */
  public <T> T tryTransaction(Function<Tx, T> work) {
    return inTransaction(1, work);
  }

  /**
   * Runs one read in autocommit mode, which saves BEGIN and COMMIT. It may run several times, and
   * does not prove a leader's term, so it must not write.
   */
  public <T> T autoCommit(Function<Tx, T> query) {
    // Behind a pooler, only a transaction has the settings.
    return settings == null
        ? untilDone(MAX_TRIES, () -> onceAlone(query))
        : inTransaction(MAX_TRIES, query);
  }

  /**
   * Runs reads that all see the same moment. In other transactions each statement sees what was
   * committed before it, so a task may end between two of them.
   */
  public <T> T inSnapshot(Function<Tx, T> reads) {
    return untilDone(MAX_TRIES, () -> once(true, reads));
  }

  private <T> T inTransaction(int maxTries, Function<Tx, T> work) {
    return untilDone(maxTries, () -> once(false, work));
  }

  private static <T> T untilDone(int maxTries, Supplier<Committed<T>> work) {
    long start = System.nanoTime();
    for (int tries = 1; ; tries++) {
      try {
        Committed<T> done = work.get();
        done.tx().committed();
        return done.value();
      } catch (NotCommitted e) {
        boolean isLate = System.nanoTime() - start > RECONNECTING.toNanos();
        if (tries == maxTries || !e.mayRunAgain(isLate) || (e.failure.isReadOnly() && tries > 1)) {
          throw e.failure;
        }
        LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(1_000_000L << tries));
      }
    }
  }

  private record Committed<T>(Tx tx, T value) {}

  /** The work failed before its commit was requested, so it had no effect. */
  private static final class NotCommitted extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private final StoreException failure;

    NotCommitted(StoreException failure) {
      super(null, failure, false, false);
      this.failure = failure;
    }

    boolean mayRunAgain(boolean isLate) {
      return failure.isBusy() || (failure.isLostConnection() && !isLate);
    }
  }

  private <T> Committed<T> once(boolean isSnapshot, Function<Tx, T> work) {
    @Nullable Tx tx = null;
    try (Connection connection = pool.getConnection()) {
      tx = new Tx(connection, transitions);
      return new Committed<>(tx, commit(connection, tx, isSnapshot, work));
    } catch (SQLException e) {
      failed(tx);
      throw unreachable(e);
    } catch (RuntimeException | Error e) {
      failed(tx);
      throw e;
    }
  }

  private static void failed(@Nullable Tx tx) {
    if (tx != null) {
      tx.failed();
    }
  }

  private static final String ONE_SNAPSHOT =
      """
      /* Db.oneSnapshot */
      SET TRANSACTION ISOLATION LEVEL REPEATABLE READ
      """;

  private <T> T commit(Connection connection, Tx tx, boolean isSnapshot, Function<Tx, T> work)
      throws SQLException {
    T value;
    try {
      if (isSnapshot) {
        tx.update(ONE_SNAPSHOT); // PostgreSQL accepts it only before the first query
      }
      if (settings != null) {
        tx.query(settings, _ -> true);
      }
      proveLeading(tx);
      value = work.apply(tx);
    } catch (StoreException e) {
      rollBack(connection, e);
      if (e.isReadOnly()) {
        leaveStandby(connection);
      }
      throw new NotCommitted(e);
    } catch (RuntimeException | Error e) {
      rollBack(connection, e);
      throw e;
    }
    connection.clearWarnings(); // of the login, such as a collation that is another version's
    connection.commit();
    refuseUnreplicated(connection.getWarnings());
    return value;
  }

  private <T> Committed<T> onceAlone(Function<Tx, T> question) {
    if (leading != null && leading.get().isEmpty()) {
      staleTerms.increment();
      throw StoreException.staleTerm(Optional.empty());
    }
    try (Connection connection = pool.getConnection()) {
      connection.setAutoCommit(true); // sends nothing; the pool takes it back
      Tx tx = Tx.autoCommit(connection, transitions);
      try {
        return new Committed<>(tx, question.apply(tx));
      } catch (StoreException e) {
        if (e.isReadOnly()) {
          leaveStandby(connection);
        }
        throw new NotCommitted(e);
      }
    } catch (SQLException e) {
      throw unreachable(e);
    }
  }

  private StoreException unreachable(SQLException e) {
    SQLException why = source.failure() == null ? e : source.failure();
    return new StoreException("transaction failed: " + why.getMessage(), stateOf(e), e);
  }

  /** The former primary is a standby now: none of its connections can write. */
  private void leaveStandby(Connection connection) {
    pool.evictConnection(connection);
    pool.getHikariPoolMXBean().softEvictConnections();
  }

  /**
   * PostgreSQL reports a commit as successful, with a warning, if its wait for a synchronous
   * standby was cancelled. It may not survive the loss of the primary, so it does not count as
   * done.
   */
  static void refuseUnreplicated(@Nullable SQLWarning warning) throws SQLException {
    if (warning != null) {
      throw new SQLException(
          "committed, but perhaps on no standby: " + warning.getMessage(), "08007");
    }
  }

  private void proveLeading(Tx tx) {
    if (leading == null) {
      return;
    }
    Optional<Term> term = leading.get();
    if (term.isEmpty() || !isHeld(tx, term.get())) {
      staleTerms.increment();
      throw StoreException.staleTerm(term);
    }
  }

  private static final String IS_HELD =
      """
      /* Db.isHeld */
      SELECT carillon.leads(?, ?) AS leads
      """;

  /** Whether the term continues; if so, it continues until this transaction ends. */
  public static boolean isHeld(Tx tx, Term term) {
    return tx.query(IS_HELD, row -> row.getBoolean("leads"), term.number(), term.node()).getFirst();
  }

  private static void rollBack(Connection connection, Throwable cause) {
    try {
      connection.rollback();
    } catch (SQLException e) {
      cause.addSuppressed(e); // the connection is broken: the pool discards it
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
    source.stop(); // first: the pool waits for a connection that is being opened
    pool.close();
  }
}
