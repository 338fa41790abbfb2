package carillon.chaos.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The command that starts a node.
 *
 * @param command everything before {@code server}
 * @param environment additional variables
 */
public record Program(List<String> command, Map<String, String> environment) {

  /** A small heap and fast startup: nodes do not live long here. */
  private static final List<String> FLAGS =
      List.of(
          "-Xmx160m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError");

  /** The program built from this work tree. */
  public static Program built(Path root) throws IOException {
    return built(root, List.of());
  }

  /**
   * The program built from this work tree.
   *
   * @param before directories of classes that take precedence over the program's own
   */
  public static Program built(Path root, List<Path> before) throws IOException {
    Path target = root.toAbsolutePath().resolve("server/target");
    Path jar = target.resolve("carillon-server.jar");
    if (!Files.exists(jar)) {
      throw new IOException("There is no " + jar + ". Run make build.");
    }
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(FLAGS);
    Path archive = target.resolve("carillon.jsa");
    if (before.isEmpty() && Files.exists(archive)) {
      command.addAll(
          List.of(
              "-Xshare:auto",
              "-XX:SharedArchiveFile=" + archive,
              "-Xlog:disable",
              "-Xlog:all=error,cds*=off,aot*=off:stderr"));
    }
    List<String> classPath = new ArrayList<>();
    before.forEach(directory -> classPath.add(directory.toAbsolutePath().toString()));
    classPath.add(jar.toString());
    command.addAll(List.of("-cp", String.join(":", classPath), "carillon.app.Main"));
    return new Program(List.copyOf(command), Map.of());
  }

  /** Adds JVM flags. */
  Program with(List<String> flags) {
    List<String> more = new ArrayList<>(command);
    more.addAll(1, flags);
    return new Program(List.copyOf(more), environment);
  }

  /** The program of another checkout, which is built if necessary. */
  public static Program of(Path checkout) {
    return new Program(
        List.of(checkout.toAbsolutePath().resolve("carillon").toString()),
        Map.of("CARILLON_JAVA_OPTS", "-Xmx192m -XX:TieredStopAtLevel=1"));
  }
}
