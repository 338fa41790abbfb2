package carillon.app.config;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Files and directories that only their owner may read. */
public final class PrivateFiles {

  private static final FileAttribute<Set<PosixFilePermission>> OWNER_ONLY_DIRECTORY =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
  private static final FileAttribute<Set<PosixFilePermission>> OWNER_ONLY_FILE =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));

  private PrivateFiles() {}

  /** The directory, created with its parents if it does not exist. */
  public static Path directory(@Nullable Path directory) throws IOException {
    if (directory == null) {
      throw new IOException("no parent directory");
    }
    return Files.isDirectory(directory)
        ? directory
        : Files.createDirectories(directory, OWNER_ONLY_DIRECTORY);
  }

  /** Writes the text to a new file, which replaces an existing one. */
  public static void write(Path file, String text) throws IOException {
    Files.deleteIfExists(file);
    Files.createFile(file, OWNER_ONLY_FILE);
    Files.writeString(file, text);
  }

  public static void deleteTree(Path root) throws IOException {
    if (!Files.exists(root)) {
      return;
    }
    List<Path> deepestFirst;
    try (Stream<Path> paths = Files.walk(root)) {
      deepestFirst = paths.sorted(Comparator.reverseOrder()).toList();
    }
    for (Path path : deepestFirst) {
      Files.delete(path);
    }
  }
}
