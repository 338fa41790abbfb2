package carillon.app.postgres;

import carillon.app.config.PrivateFiles;
import carillon.cli.CommandFailed;
import carillon.model.KeyText;
import carillon.store.db.EmbeddedRole;
import carillon.store.db.StoreException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * A real PostgreSQL in the data directory, for installations without their own: durable, on
 * loopback only, with a password.
 *
 * <p>It outlives a Carillon that is killed, as any server would. So a start takes the directory's
 * lock, stops a server that an earlier process left running, and starts a new one. No server is
 * reused, so sessions and locks of the dead process are gone.
 */
public final class EmbeddedPostgres implements AutoCloseable {

  /** The role that Carillon connects as: it owns the database, and is no superuser. */
  private static final String USER = "carillon";

  private static final String SUPERUSER = "postgres";

  /** A crash may leave up to max_wal_size to be replayed. */
  private static final Duration START_TIMEOUT = Duration.ofMinutes(10);

  private static final Duration STOP_TIMEOUT = Duration.ofSeconds(60);

  /**
   * The free port may be taken meanwhile, and processes of a killed server may live for a moment.
   */
  private static final int START_TRIES = 3;

  /**
   * Durable at any price: the API's 202 depends on the first three lines. Client errors are left to
   * the client's log, so that the server's own stays small.
   */
  private static final String SETTINGS =
      """
      # Written by Carillon at each start. To change a setting use ALTER SYSTEM as postgres, which is kept and stands above this.
      fsync = on
      synchronous_commit = on
      full_page_writes = on
      listen_addresses = '127.0.0.1'
      unix_socket_directories = ''
      max_connections = 60
      max_locks_per_transaction = 256
      shared_buffers = 256MB
      wal_compression = on
      max_wal_size = 4GB
      timezone = 'UTC'
      log_timezone = 'UTC'
      log_min_messages = log
      log_checkpoints = off
      jit = off
      """;

  private final DirectoryLock lock;
  private final Path home;
  private final Path cluster;
  private final PidFile pidFile;
  private final Path log;
  private final UnprivilegedUser runner;
  private final String password;
  private final Path superuserPassword;
  private int port;
  private boolean closed; // guarded by this

  private EmbeddedPostgres(DirectoryLock lock, Path dataDir, Path home)
      throws IOException, InterruptedException {
    this.lock = lock;
    this.home = home;
    this.cluster = dataDir.resolve("postgres");
    this.pidFile = new PidFile(cluster);
    this.log = cluster.resolve("server.log");
    this.runner = UnprivilegedUser.forCluster(cluster);
    this.password = password(dataDir.resolve("postgres-password"));
    this.superuserPassword = dataDir.resolve("postgres-superuser-password");
    runner.letThrough(dataDir);
  }

  /** Starts the database of a data directory, creating it if there is none. */
  public static EmbeddedPostgres start(Path dataDir) {
    return start(dataDir, dataDir.resolve("postgres-bin"));
  }

  /**
   * Starts it with the binaries unpacked elsewhere, so that many data directories can share them.
   */
  public static EmbeddedPostgres start(Path dataDir, Path binaries) {
    try {
      Path directory = PrivateFiles.directory(dataDir.toAbsolutePath()).toRealPath();
      DirectoryLock lock = DirectoryLock.take(directory);
      try {
        Path home = PostgresBinaries.in(binaries.toAbsolutePath());
        EmbeddedPostgres postgres = new EmbeddedPostgres(lock, directory, home);
        postgres.stop();
        postgres.create();
        postgres.launch();
        try {
          postgres.createRole();
        } catch (IOException | RuntimeException e) {
          postgres.stop();
          throw e;
        }
        return postgres;
      } catch (IOException | InterruptedException | RuntimeException e) {
        lock.close();
        throw e;
      }
    } catch (IOException e) {
      throw new CommandFailed(
          "the embedded PostgreSQL in " + dataDir + " cannot start: " + CommandFailed.reason(e));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new CommandFailed("interrupted while the embedded PostgreSQL was starting");
    }
  }

  /** Restarts the server on the same port if it has died; returns whether it had. */
  public synchronized boolean revive() {
    try {
      long pid = pidFile.pid();
      if (closed || (pid != 0 && pidFile.isOurs(pid))) {
        return false;
      }
      pidFile.disown();
      configure();
      return isStarted();
    } catch (IOException e) {
      throw new CommandFailed(
          "the embedded PostgreSQL died and cannot be restarted: " + CommandFailed.reason(e));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  public String jdbcUrl() {
    return "jdbc:postgresql://127.0.0.1:" + port + "/postgres";
  }

  public String user() {
    return USER;
  }

  public String password() {
    return password;
  }

  /** Ends all sessions and stops the server; returns when it is down. */
  @Override
  public synchronized void close() {
    closed = true;
    try (lock) {
      stop();
    } catch (IOException e) {
      throw new CommandFailed(
          "the embedded PostgreSQL cannot be stopped: " + CommandFailed.reason(e));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static String password(Path file) throws IOException {
    if (!Files.exists(file)) {
      PrivateFiles.write(file, KeyText.random(new SecureRandom()).text() + "\n");
    }
    return Files.readString(file).strip();
  }

  /** Creates it under another name first: a directory {@code postgres} is always complete. */
  private void create() throws IOException, InterruptedException {
    if (Files.exists(cluster)) {
      return;
    }
    Path draft = cluster.resolveSibling("postgres.new");
    PrivateFiles.deleteTree(draft);
    PrivateFiles.directory(draft);
    runner.give(draft);
    Path secret =
        draft.resolveSibling(
            "postgres-password.new"); // a copy, because another user may have to own it
    PrivateFiles.write(secret, password(superuserPassword));
    runner.give(secret);
    try {
      Process initdb =
          program(
              "initdb",
              "--pgdata=" + draft,
              "--username=" + SUPERUSER,
              "--pwfile=" + secret,
              "--auth-host=scram-sha-256",
              "--auth-local=reject",
              "--encoding=UTF8",
              "--no-locale", // byte order, the same on every machine
              "--locale-provider=builtin",
              "--builtin-locale=C.UTF-8");
      String output = new String(initdb.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      if (initdb.waitFor() != 0) {
        throw new IOException("initdb failed: " + reason(output));
      }
    } finally {
      Files.delete(secret);
    }
    Files.move(draft, cluster, StandardCopyOption.ATOMIC_MOVE);
  }

  /** Runs once for each database, and again if it was interrupted: the file is written last. */
  private void createRole() throws IOException {
    Path done = cluster.resolve("carillon-role");
    if (Files.exists(done)) {
      return;
    }
    try {
      String secret = password(superuserPassword);
      new EmbeddedRole(jdbcUrl(), SUPERUSER, secret, USER, password).create();
    } catch (StoreException e) {
      throw new IOException(String.valueOf(e.getMessage()), e);
    }
    PrivateFiles.write(done, "The role " + USER + " owns the database and is no superuser.\n");
    runner.give(done);
  }

  private void launch() throws IOException, InterruptedException {
    for (int attempt = 1; ; attempt++) {
      port = freePort();
      configure();
      if (isStarted()) {
        return;
      }
      if (attempt == START_TRIES) {
        throw new IOException(reason(Files.readString(log)));
      }
    }
  }

  private void configure() throws IOException {
    Path settings = cluster.resolve("postgresql.conf");
    PrivateFiles.write(settings, SETTINGS + "port = " + port + "\n");
    PrivateFiles.write(log, "");
    runner.give(settings);
    runner.give(log);
  }

  /**
   * pg_ctl puts the server into its own session: Ctrl-C in the terminal stops only Carillon, which
   * then stops the server.
   */
  private boolean isStarted() throws IOException, InterruptedException {
    Process control =
        program(
            "pg_ctl",
            "start",
            "--wait",
            "--timeout=" + START_TIMEOUT.toSeconds(),
            "--pgdata=" + cluster,
            "--log=" + log);
    // pg_ctl would poll ten times a second; polling more often makes the start faster.
    await(START_TIMEOUT, () -> pidFile.isReady() || !control.isAlive());
    return pidFile.isReady();
  }

  /** Stops the server if it runs, even if another process started it. */
  private void stop() throws IOException, InterruptedException {
    long pid = pidFile.pid();
    if (pid == 0) {
      return;
    }
    if (pidFile.isOurs(pid)) {
      signal("fast");
      if (!await(STOP_TIMEOUT, () -> !pidFile.isRunning(pid))) {
        signal("immediate"); // like a crash: the next start replays the WAL
        await(STOP_TIMEOUT, () -> !pidFile.isRunning(pid));
      }
    }
    pidFile.disown();
  }

  private void signal(String mode) throws IOException, InterruptedException {
    program("pg_ctl", "stop", "--no-wait", "--mode=" + mode, "--pgdata=" + cluster).waitFor();
  }

  private Process program(String name, String... arguments) throws IOException {
    List<String> command = new ArrayList<>(runner.prefix());
    command.add(home.resolve("bin").resolve(name).toString());
    command.addAll(List.of(arguments));
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectErrorStream(true).directory(home.toFile());
    builder.environment().keySet().removeIf(variable -> variable.startsWith("PG"));
    builder.environment().put("LC_ALL", "C");
    Process process = builder.start();
    process.getOutputStream().close();
    return process;
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.ofLiteral("127.0.0.1"))) {
      return socket.getLocalPort();
    }
  }

  /** Waits for the condition; false after the timeout. */
  private static boolean await(Duration timeout, BooleanSupplier condition)
      throws InterruptedException {
    long end = System.nanoTime() + timeout.toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - end > 0) {
        return false;
      }
      Thread.sleep(5);
    }
    return true;
  }

  /** The most useful part of the program's output. */
  private static String reason(String output) {
    for (String mark : List.of("FATAL:", "error:")) {
      int at = output.indexOf(mark);
      if (at >= 0) {
        return output.substring(at + mark.length()).lines().findFirst().orElse("").strip();
      }
    }
    return output.isBlank() ? "no reason given" : output.strip().lines().toList().getLast();
  }
}
