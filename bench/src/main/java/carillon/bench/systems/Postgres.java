package carillon.bench.systems;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * The benchmark's PostgreSQL, the same for all systems: the binaries and the data directory that
 * Carillon unpacks and creates, started with the settings below.
 */
public final class Postgres implements AutoCloseable {

  private static final String HOST = "127.0.0.1";
  private static final int START_TRIES = 300;

  /** The same for all systems. Full durability is on. */
  private static final Map<String, String> SETTINGS = new LinkedHashMap<>();

  static {
    SETTINGS.put("fsync", "on");
    SETTINGS.put("synchronous_commit", "on");
    SETTINGS.put("full_page_writes", "on");
    SETTINGS.put("shared_buffers", "2GB");
    SETTINGS.put("max_wal_size", "8GB");
    SETTINGS.put("max_connections", "200");
    SETTINGS.put("autovacuum_naptime", "10s");
    SETTINGS.put("jit", "off");
    SETTINGS.put("shared_preload_libraries", "pg_stat_statements");
  }

  private final Path log;
  private final Path cluster;
  private final Path bin;
  private final Process process;
  private final Database.Login role;
  private final Database maintenance;
  private int databases;

  private Postgres(
      Path log,
      Path cluster,
      Path bin,
      Process process,
      Database.Login role,
      Database maintenance) {
    this.log = log;
    this.cluster = cluster;
    this.bin = bin;
    this.process = process;
    this.role = role;
    this.maintenance = maintenance;
  }

  public static Postgres start(Path directory) throws IOException, InterruptedException {
    return start(directory, Map.of());
  }

  /**
   * Starts it with some other settings.
   *
   * @param changed settings that differ from those of the benchmark
   */
  public static Postgres start(Path directory, Map<String, String> changed)
      throws IOException, InterruptedException {
    Path seed = directory.resolve("seed");
    Node.start(seed, List.of()).close(); // leaves binaries, a data directory and its passwords
    Path cluster = seed.resolve("postgres");
    Path bin = bin(seed.resolve("postgres-bin"));
    var role = new Database.Login("carillon", secret(seed.resolve("postgres-password")));
    var superuser =
        new Database.Login("postgres", secret(seed.resolve("postgres-superuser-password")));

    Path log = directory.resolve("postgres.log");
    int port = freePort();
    List<String> command = program(cluster, bin, "postgres");
    command.addAll(List.of("-D", cluster.toString(), "-c", "port=" + port));
    Map<String, String> settings = new LinkedHashMap<>(SETTINGS);
    settings.putAll(changed);
    settings.forEach((name, value) -> command.addAll(List.of("-c", name + "=" + value)));
    Process process =
        new ProcessBuilder(command)
            .directory(bin.toFile())
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .start();
    Database maintenance =
        new Database(HOST, port, "postgres", superuser, superuser, process.pid());
    Postgres postgres = new Postgres(log, cluster, bin, process, role, maintenance);
    postgres.awaitReady();
    return postgres;
  }

  private static String secret(Path file) throws IOException {
    return Files.readString(file).strip();
  }

  /** The server's log file. */
  public Path log() {
    return log;
  }

  private static Path bin(Path unpacked) throws IOException {
    try (Stream<Path> paths = Files.walk(unpacked, 3)) {
      return paths
          .filter(path -> path.endsWith("bin") && Files.exists(path.resolve("postgres")))
          .findFirst()
          .orElseThrow(() -> new IOException("no PostgreSQL in " + unpacked));
    }
  }

  /** PostgreSQL refuses to run as root; it then runs as the owner of the data directory. */
  private static List<String> program(Path cluster, Path bin, String name) throws IOException {
    List<String> command = new ArrayList<>();
    int owner = (int) Files.getAttribute(cluster, "unix:uid");
    int us = (int) Files.getAttribute(Path.of("/proc/self"), "unix:uid");
    if (us == 0 && owner == 0) {
      command.addAll(List.of("unshare", "--user"));
    } else if (us == 0) {
      command.addAll(List.of("setpriv", "--reuid=" + owner, "--regid=" + owner, "--clear-groups"));
    }
    command.add(bin.resolve(name).toString());
    return command;
  }

  private void awaitReady() throws IOException, InterruptedException {
    for (int i = 0; ; i++) {
      try {
        maintenance.one("SELECT 1");
        return;
      } catch (SQLException e) {
        if (i == START_TRIES || !process.isAlive()) {
          throw new IOException("PostgreSQL did not start: " + e.getMessage(), e);
        }
        Thread.sleep(50);
      }
    }
  }

  /** Creates a database, after a checkpoint so that none is due soon. */
  Database database() throws SQLException {
    String name = "bench_" + ++databases;
    maintenance.execute("CREATE DATABASE " + name + " OWNER " + role.user());
    maintenance.execute("CHECKPOINT");
    Database database =
        new Database(
            HOST, maintenance.port(), name, role, maintenance.superuser(), maintenance.postgres());
    database.asSuperuser().execute("CREATE EXTENSION pg_stat_statements");
    database.asSuperuser().execute("CREATE EXTENSION pg_visibility"); // for Database.settle()
    return database;
  }

  /** Version and settings, as reported by the server. */
  public Map<String, String> settings() throws SQLException {
    Map<String, String> settings = new LinkedHashMap<>();
    settings.put("version", maintenance.one("SHOW server_version"));
    for (String name : SETTINGS.keySet()) {
      settings.put(name, maintenance.one("SHOW " + name));
    }
    // Set by Carillon when it creates the data directory.
    settings.put("wal_compression", maintenance.one("SHOW wal_compression"));
    return settings;
  }

  static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.ofLiteral(HOST))) {
      return socket.getLocalPort();
    }
  }

  @Override
  public void close() {
    try {
      List<String> command = program(cluster, bin, "pg_ctl");
      command.addAll(List.of("stop", "--mode=fast", "--pgdata=" + cluster));
      new ProcessBuilder(command)
          .directory(bin.toFile())
          .redirectErrorStream(true)
          .redirectOutput(ProcessBuilder.Redirect.DISCARD)
          .start()
          .waitFor();
      if (!process.waitFor(60, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (IOException | InterruptedException e) {
      process.destroyForcibly();
    }
  }
}
