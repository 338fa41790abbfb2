package carillon.api.json;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where the rows of large batches may wait: below the node's data directory, which is on a disk.
 * The system's directory for temporary files is the second choice, because it may be in memory.
 *
 * @param dataDirectory null if the node has none
 */
public record SpillDirectories(@Nullable Path dataDirectory) {

  private static final Logger log = LoggerFactory.getLogger(SpillDirectories.class);

  /** Of the data directory. */
  static final String NAME = "tmp";

  private static final Path TEMPORARY = Path.of(System.getProperty("java.io.tmpdir"));

  List<Path> inOrder() {
    Path own = own();
    return own == null ? List.of(TEMPORARY) : List.of(own, TEMPORARY);
  }

  /** Null where there is no data directory, or nothing can be created in it. */
  private @Nullable Path own() {
    if (dataDirectory == null || !Files.isDirectory(dataDirectory)) {
      return null; // a node with a database and an admin key of the operator's own needs none
    }
    Path own = dataDirectory.resolve(NAME);
    try {
      return Files.isDirectory(own)
          ? own
          : Files.createDirectory(
              own,
              PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    } catch (IOException e) {
      if (Files.isDirectory(own)) {
        return own; // another request was faster
      }
      log.warn("cannot create a directory for large batches directory={}", own, e);
      return null;
    }
  }
}
