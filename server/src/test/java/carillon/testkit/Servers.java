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
 * The server processes of one test, or of one test class if registered in a static field. All are
 * gone when it ends, however it ends; if a test failed, what they wrote to stderr is shown.
 */
public final class Servers implements BeforeAllCallback, AfterEachCallback, AfterAllCallback {

  private final List<ServerProcess> servers = new ArrayList<>();
  private final List<Path> directories = new ArrayList<>();
  private boolean ofClass;

  /** A data directory that does not exist yet, on a disk of the machine. */
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
   * A node on a database that outlives it; it may deliver to loopback addresses unless told
   * otherwise.
   */
  public ServerProcess startOn(Db.Address database, String... arguments) {
    return launchOn(database, arguments).awaitReady();
  }

  /** Starts a node without waiting for it. */
  public ServerProcess launchOn(Db.Address database, String... arguments) {
    List<String> all = new ArrayList<>(List.of("--database-url", url(database)));
    all.addAll(List.of(arguments));
    if (!all.contains("--allow-targets")) {
      all.addAll(List.of("--allow-targets", "127.0.0.0/8"));
    }
    return launch(newDataDir(), all.toArray(String[]::new));
  }

  /** A node on the database that is embedded in the directory, unless the arguments name one. */
  public ServerProcess start(Path dataDir, String... arguments) {
    return launch(dataDir, arguments).awaitReady();
  }

  /** A node of which it is not known whether it will run. */
  public ServerProcess launch(Path dataDir, String... arguments) {
    ServerProcess server = ServerProcess.launch(dataDir, List.of(arguments));
    servers.add(server);
    return server;
  }

  /** A node with the default memory settings. */
  public ServerProcess startAsShipped(Db.Address database, String... arguments) {
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
      // Something in it was just ending; it is a temporary directory.
    }
  }
}
