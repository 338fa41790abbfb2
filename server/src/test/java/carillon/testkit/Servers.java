package carillon.testkit;

import carillon.store.db.Db;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Starts the server processes of one test, or of one test class if registered in a static field,
 * and ends them afterwards. If a test fails, their standard error is printed.
 */
public final class Servers implements BeforeAllCallback, AfterEachCallback, AfterAllCallback {

  private final List<ServerProcess> servers = new ArrayList<>();
  private final List<Path> directories = new ArrayList<>();
  private boolean ofClass;

  /** A path for a data directory, which does not exist yet. */
  public Path newDataDir() {
    try {
      Path directory = Files.createTempDirectory("carillon-e2e");
      directories.add(directory);
      return directory.resolve("data");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Starts a node on an external database. It may deliver to loopback addresses unless the
   * arguments have {@code --allow-targets}.
   */
  public ServerProcess startOn(Db.Address database, String... arguments) {
    return launchOn(database, arguments).awaitReady();
  }

  /** Starts a node on an external database without waiting until it is ready. */
  public ServerProcess launchOn(Db.Address database, String... arguments) {
    List<String> all = new ArrayList<>(List.of("--database-url", url(database)));
    all.addAll(List.of(arguments));
    if (!all.contains("--allow-targets")) {
      all.addAll(List.of("--allow-targets", "127.0.0.0/8"));
    }
    return launch(newDataDir(), all.toArray(String[]::new));
  }

  /** Starts a node on its embedded database, unless the arguments name another. */
  public ServerProcess start(Path dataDir, String... arguments) {
    return launch(dataDir, arguments).awaitReady();
  }

  /** Starts a node without waiting until it is ready. */
  public ServerProcess launch(Path dataDir, String... arguments) {
    ServerProcess server = ServerProcess.launch(dataDir, List.of(arguments));
    servers.add(server);
    return server;
  }

  /** Starts a node with the JVM flags that the {@code carillon} script passes. */
  public ServerProcess startWithShippedFlags(Db.Address database, String... arguments) {
    List<String> all = new ArrayList<>(List.of("--database-url", url(database)));
    all.addAll(List.of(arguments));
    ServerProcess server = ServerProcess.launch(ServerProcess.shippedFlags(), newDataDir(), all);
    servers.add(server);
    return server.awaitReady();
  }

  /** The value for {@code --database-url}. */
  public static String url(Db.Address database) {
    return database
        .url()
        .replaceFirst(
            "jdbc:postgresql://",
            "postgresql://" + database.user() + ":" + database.password() + "@");
  }

  @Override
  public void beforeAll(ExtensionContext context) {
    ofClass = true; // called only for a static extension
  }

  @Override
  public void afterEach(ExtensionContext context) {
    if (context.getExecutionException().isPresent()) {
      for (ServerProcess server : servers) {
        System.err.println("--- stderr of a server of " + context.getDisplayName());
        System.err.println(server.errors());
      }
    }
    if (!ofClass) {
      end();
    }
  }

  @Override
  public void afterAll(ExtensionContext context) {
    end();
  }

  private void end() {
    servers.forEach(ServerProcess::end);
    directories.forEach(Servers::delete);
  }

  private static void delete(Path directory) {
    try (Stream<Path> paths = Files.walk(directory)) {
      for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(path);
      }
    } catch (IOException | UncheckedIOException e) {
      // A process was still exiting; the directory is temporary anyway.
    }
  }
}
