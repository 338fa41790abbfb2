package carillon.app.postgres;

import carillon.cli.CommandFailed;
import com.sun.security.auth.module.UnixSystem;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * How to run PostgreSQL, which refuses to be root, from a program that may be.
 *
 * @param prefix the prefix of its commands; empty for a normal user
 * @param owner the user id that its files must belong to; -1 means our own
 */
public record UnprivilegedUser(List<String> prefix, int owner) {

  private static final int SAME = -1;
  private static final int NOBODY = 65534;

  /** The user for the database in {@code cluster}, which may not exist yet. */
  public static UnprivilegedUser forCluster(Path cluster) throws IOException, InterruptedException {
    if (new UnixSystem().getUid() != 0) {
      return new UnprivilegedUser(List.of(), SAME);
    }
    int owner = Files.exists(cluster) ? (int) Files.getAttribute(cluster, "unix:uid") : 0;
    if (owner != 0) {
      return byId(owner);
    }
    // In a new user namespace, root is mapped to nobody and the files still belong to root. Not
    // every container allows it.
    List<String> namespace = List.of("unshare", "--user");
    return works(namespace) ? new UnprivilegedUser(namespace, SAME) : byId(NOBODY);
  }

  private static UnprivilegedUser byId(int uid) {
    String id = Integer.toString(uid);
    return new UnprivilegedUser(
        List.of("setpriv", "--reuid=" + id, "--regid=" + id, "--clear-groups"), uid);
  }

  private static boolean works(List<String> prefix) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(prefix);
    command.add("true");
    try {
      return new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start()
              .waitFor()
          == 0;
    } catch (IOException _) { // no such program
      return false;
    }
  }

  /** Lets the user pass through a directory that is ours. */
  public void letThrough(Path directory) throws IOException {
    if (owner != SAME) {
      Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwx--x--x"));
    }
  }

  /** Gives a file or a tree to the user. */
  public void give(Path root) throws IOException {
    if (owner == SAME) {
      return;
    }
    try (Stream<Path> paths = Files.walk(root)) {
      for (Path path : paths.toList()) {
        Files.setAttribute(path, "unix:uid", owner);
        Files.setAttribute(path, "unix:gid", owner);
      }
    } catch (IOException e) {
      throw new CommandFailed(
          "cannot give " + root + " to user " + owner + ": " + CommandFailed.reason(e));
    }
  }
}
