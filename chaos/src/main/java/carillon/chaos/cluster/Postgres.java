package carillon.chaos.cluster;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;

/** A durable PostgreSQL that the harness owns and may stop at any time. */
public final class Postgres implements AutoCloseable {

  private static final String HOST = "127.0.0.1";
  private static final String SUPERUSER = "postgres";

  /** The unprivileged role that owns the database, as docs/operations.md recommends. */
  private static final String OWNER = "carillon";

  private static final int START_TRIES = 1200;
  private static final int NOBODY = 65534;

  /** Durable, small, and with a detailed log. */
  private static final Map<String, String> SETTINGS =
      Map.ofEntries(
          Map.entry("fsync", "on"),
          Map.entry("synchronous_commit", "on"),
          Map.entry("full_page_writes", "on"),
          Map.entry("shared_buffers", "64MB"),
          Map.entry("max_connections", "250"),
          Map.entry("max_wal_size", "2GB"),
          Map.entry("listen_addresses", HOST),
          Map.entry("unix_socket_directories", ""),
          Map.entry("timezone", "UTC"),
          Map.entry("log_timezone", "UTC"),
          Map.entry("jit", "off"),
          Map.entry("log_line_prefix", DeadlockLog.PREFIX),
          Map.entry("log_lock_waits", "on"),
          Map.entry("deadlock_timeout", "200ms"),
          Map.entry("log_min_duration_statement", "500"));

  private final Path cluster;
  private final Path home;
  private final Path log;
  private final List<String> prefix;
  private final int port;
  private final String password;
  private volatile Process process;

  /** How to stop the server. */
  public enum Stop {
    /** Ends all sessions and shuts down. */
    FAST,
    /** Stops without a checkpoint, as in a crash: the next start replays the WAL. */
    IMMEDIATE
  }

  private Postgres(Path cluster, Path home, Path log, List<String> prefix, String password)
      throws IOException {
    this.cluster = cluster;
    this.home = home;
    this.log = log;
    this.prefix = prefix;
    this.password = password;
    this.port = freePort();
    this.process = launch();
  }

  /**
   * Creates a database cluster in a directory and starts it.
   *
   * @param binaries a cache of the unpacked programs
   */
  public static Postgres start(Path directory, Path binaries)
      throws IOException, InterruptedException {
    Path home = PostgresBinaries.in(binaries.toAbsolutePath());
    Path cluster = directory.toAbsolutePath().resolve("postgres");
    Files.createDirectories(cluster);
    List<String> prefix = unprivileged(cluster);
    String password = HexFormat.of().formatHex(new SecureRandom().generateSeed(16));
    Path secret = Files.writeString(directory.resolve("postgres-password"), password);
    Path log = directory.toAbsolutePath().resolve("postgres.log");
    List<String> command = new ArrayList<>(prefix);
    command.addAll(
        List.of(
            home.resolve("bin/initdb").toString(),
            "--pgdata=" + cluster,
            "--username=" + SUPERUSER,
            "--pwfile=" + secret.toAbsolutePath(),
            "--auth-host=password",
            "--auth-local=reject",
            "--encoding=UTF8",
            "--no-locale",
            "--no-sync"));
    Process initdb = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(initdb.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (initdb.waitFor() != 0) {
      throw new IOException("initdb failed: " + output);
    }
    Postgres postgres = new Postgres(cluster, home, log, prefix, password);
    try {
      postgres.awaitReady();
      postgres.createOwner();
      return postgres;
    } catch (SQLException e) {
      postgres.close();
      throw new IOException("cannot create the role " + OWNER + ": " + e.getMessage(), e);
    } catch (IOException | InterruptedException | RuntimeException e) {
      postgres.close();
      throw e;
    }
  }

  private void createOwner() throws SQLException {
    try (Connection connection = connect("postgres");
        Statement statement = connection.createStatement()) {
      statement.execute("CREATE ROLE " + OWNER + " LOGIN PASSWORD '" + password + "'");
    }
  }

  /**
   * A command prefix under which PostgreSQL agrees to run if we are root. In a user namespace root
   * appears as another user and keeps its files. Where user namespaces are not allowed, the user
   * {@code nobody} gets the directory.
   */
  private static List<String> unprivileged(Path cluster) throws IOException, InterruptedException {
    int uid = (int) Files.getAttribute(Path.of("/proc/self"), "unix:uid");
    if (uid != 0) {
      return List.of();
    }
    List<String> namespace = List.of("unshare", "--user");
    if (new ProcessBuilder("unshare", "--user", "true").start().waitFor() == 0) {
      return namespace;
    }
    Files.setAttribute(cluster, "unix:uid", NOBODY);
    Path parent = cluster.resolveSibling(".").normalize();
    Files.setPosixFilePermissions(parent, PosixFilePermissions.fromString("rwxr-xr-x"));
    return List.of("setpriv", "--reuid=" + NOBODY, "--regid=" + NOBODY, "--clear-groups");
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.ofLiteral(HOST))) {
      return socket.getLocalPort();
    }
  }

  private Process launch() throws IOException {
    List<String> command = new ArrayList<>(prefix);
    command.addAll(List.of(home.resolve("bin/postgres").toString(), "-D", cluster.toString()));
    command.addAll(List.of("-c", "port=" + port));
    SETTINGS.forEach((name, value) -> command.addAll(List.of("-c", name + "=" + value)));
    return Processes.start(
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile())));
  }

  private void awaitReady() throws IOException, InterruptedException {
    for (int i = 0; ; i++) {
      try {
        connect("postgres").close();
        return;
      } catch (SQLException e) {
        if (i == START_TRIES || !process.isAlive()) {
          throw new IOException("PostgreSQL did not start: " + e.getMessage(), e);
        }
        Thread.sleep(50);
      }
    }
  }

  int port() {
    return port;
  }

  String password() {
    return password;
  }

  /** The output of all databases and restarts. */
  public Path log() {
    return log;
  }

  /** Connects directly, without a relay, as the superuser, which only the harness uses. */
  public Connection connect(String database) throws SQLException {
    Properties properties = new Properties();
    properties.setProperty("user", SUPERUSER);
    properties.setProperty("password", password);
    properties.setProperty("ApplicationName", "chaos");
    properties.setProperty("connectTimeout", "3");
    properties.setProperty("socketTimeout", "30");
    return DriverManager.getConnection(
        "jdbc:postgresql://" + HOST + ":" + port + "/" + database, properties);
  }

  public void createDatabase(String name) throws SQLException {
    try (Connection connection = connect("postgres");
        Statement statement = connection.createStatement()) {
      statement.execute("CREATE DATABASE " + name + " OWNER " + OWNER);
    }
  }

  /**
   * Creates a role that logs in as itself and then acts as the owner: {@code session_user}
   * identifies the node, and the privileges are those of the unprivileged owner.
   */
  void createRole(String name) throws SQLException {
    try (Connection connection = connect("postgres");
        Statement statement = connection.createStatement()) {
      statement.execute(
          """
          DO $$ BEGIN
              PERFORM pg_advisory_xact_lock(1);
              IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '%1$s') THEN
                  CREATE ROLE "%1$s" LOGIN PASSWORD '%2$s' IN ROLE %3$s;
                  ALTER ROLE "%1$s" SET role = '%3$s';
              END IF;
          END $$
          """
              .formatted(name, password, OWNER));
    }
  }

  public String version() throws SQLException {
    try (Connection connection = connect("postgres");
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SHOW server_version")) {
      rows.next();
      return rows.getString(1);
    }
  }

  /**
   * Stops the server for a while, and returns when it accepts connections again. It is started even
   * if the wait is interrupted.
   */
  public void restart(Stop stop, Duration down) throws IOException, InterruptedException {
    shutDown(stop);
    try {
      Thread.sleep(down);
    } finally {
      process = launch();
    }
    awaitReady();
  }

  /** Undoes remaining effects of faults; returns when the server accepts connections. */
  void heal() throws IOException, InterruptedException {
    thaw();
    if (!process.isAlive()) {
      process = launch();
    }
    awaitReady();
  }

  /** Not interruptible: a second server on the same directory would fail. */
  private void shutDown(Stop stop) {
    Process ending = process;
    if (!ending.isAlive()) {
      return;
    }
    switch (stop) {
      case FAST -> Signals.interrupt(ending.pid());
      case IMMEDIATE -> Signals.quit(ending.pid());
    }
    try {
      ending.onExit().orTimeout(20, TimeUnit.SECONDS).join();
    } catch (CompletionException _) {
      ending.destroyForcibly().onExit().join();
    }
  }

  /** Pauses the server and all its sessions with SIGSTOP. */
  public void freeze() {
    Signals.stop(List.of(process.pid())); // first, so that it cannot start another session
    Signals.stop(process.descendants().map(ProcessHandle::pid).toList());
  }

  public void thaw() {
    Signals.resume(process.descendants().map(ProcessHandle::pid).toList());
    Signals.resume(List.of(process.pid()));
  }

  @Override
  public void close() {
    thaw();
    shutDown(Stop.IMMEDIATE); // its data is no longer needed
  }
}
