package carillon.cli;

import carillon.client.Carillon;
import java.io.IOException;
import java.net.InetAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options for the server, the API key and the tenant. */
public final class Connection {

  private static final String DEFAULT_URL = "http://127.0.0.1:8080";

  @Option(
      names = "--url",
      paramLabel = "URL",
      description = "server URL (env CARILLON_URL). Default: " + DEFAULT_URL)
  private @Nullable String url;

  // Not --key, which is the business key of a task.
  @Option(
      names = "--api-key",
      paramLabel = "KEY",
      description =
          "API key (env CARILLON_KEY). Default: the admin key in the data directory, which"
              + " is sent to this machine only")
  private @Nullable String key;

  @Option(
      names = "--api-key-file",
      paramLabel = "FILE",
      description = "file containing the API key (env CARILLON_KEY_FILE)")
  private @Nullable String keyFile;

  @Option(
      names = "--data-dir",
      paramLabel = "DIR",
      description =
          "directory that contains the admin key (env CARILLON_DATA_DIR). Default: ./data")
  private @Nullable String dataDir;

  @Option(
      names = "--tenant",
      paramLabel = "NAME",
      description = "tenant to act on; requires an admin key (env CARILLON_TENANT)")
  private @Nullable String tenant;

  public Carillon open(Console console) {
    Carillon carillon;
    try {
      URI server = URI.create(url(console));
      carillon = Carillon.connect(server, key(console, server));
      warnOfPlainHttp(console, server);
    } catch (IllegalArgumentException e) {
      throw new CommandFailed("--url: " + e.getMessage());
    }
    String name = tenant(console);
    return name == null ? carillon : carillon.withTenant(name);
  }

  /** The tenant to act on; null for the tenant of the key. */
  public @Nullable String tenant(Console console) {
    return value(tenant, console, "CARILLON_TENANT");
  }

  public String url(Console console) {
    String given = value(url, console, "CARILLON_URL");
    return given == null ? DEFAULT_URL : given;
  }

  private static void warnOfPlainHttp(Console console, URI server) {
    if ("http".equalsIgnoreCase(server.getScheme()) && !isThisMachine(server)) {
      console
          .err()
          .println(
              "warning: the API key is sent to "
                  + Text.visible(String.valueOf(server.getHost()))
                  + " unencrypted; use https");
    }
  }

  /** A literal loopback address, or {@code localhost}. */
  private static boolean isThisMachine(URI server) {
    String host = server.getHost();
    if (host == null) {
      return false;
    }
    String bare = host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
    if (bare.equalsIgnoreCase("localhost")) {
      return true;
    }
    try {
      return InetAddress.ofLiteral(bare).isLoopbackAddress();
    } catch (IllegalArgumentException _) {
      return false; // a host name may resolve to another machine
    }
  }

  private String key(Console console, URI server) {
    if (key != null) {
      return checked(key);
    }
    if (keyFile != null) {
      return read(console.directory().resolve(keyFile));
    }
    String variable = value(null, console, "CARILLON_KEY");
    if (variable != null) {
      return checked(variable);
    }
    String variableFile = value(null, console, "CARILLON_KEY_FILE");
    if (variableFile != null) {
      return read(console.directory().resolve(variableFile));
    }
    String directory = value(dataDir, console, "CARILLON_DATA_DIR");
    Path adminKey =
        console.directory().resolve(directory == null ? "data" : directory).resolve("admin-key");
    if (!Files.exists(adminKey)) {
      throw new CommandFailed(
          "no API key. Set CARILLON_KEY or --api-key-file (not found in " + adminKey + ")");
    }
    if (!isThisMachine(server)) {
      throw new CommandFailed(
          "no API key for "
              + Text.visible(server.toString())
              + ": the admin key in "
              + adminKey
              + " is sent to this machine only. Set CARILLON_KEY or --api-key-file");
    }
    return read(adminKey);
  }

  private static @Nullable String value(@Nullable String option, Console console, String variable) {
    String value = option == null ? console.environment().get(variable) : option;
    return value == null || value.isEmpty() ? null : value;
  }

  private static String read(Path file) {
    try {
      return checked(Files.readString(file).strip());
    } catch (IOException e) {
      throw new CommandFailed("cannot read the key file " + file + ": " + CommandFailed.reason(e));
    }
  }

  /** The HTTP client would reject an invalid header value with a message that shows the key. */
  private static String checked(String key) {
    if (key.isEmpty() || !key.chars().allMatch(c -> c > ' ' && c < 0x7f)) {
      throw new CommandFailed("the API key must consist of visible ASCII characters");
    }
    return key;
  }
}
