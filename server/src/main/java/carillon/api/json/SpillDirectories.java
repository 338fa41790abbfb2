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
 * The directories for temporary files of large batches. The node's data directory comes first,
 * because the system's temporary directory may be in memory.
 *
 * @param dataDirectory null if the node has none
 */
public record SpillDirectories(@Nullable Path dataDirectory) {

  private static final Logger log = LoggerFactory.getLogger(SpillDirectories.class);

  /** A subdirectory of the data directory. */
  static final String NAME = "tmp";

  private static final Path TEMPORARY = Path.of(System.getProperty("java.io.tmpdir"));

  List<Path> inOrder() {
    Path own = own();
    return own == null ? List.of(TEMPORARY) : List.of(own, TEMPORARY);
  }

  /** Null if there is no data directory, or it is not writable. */
  private @Nullable Path own() {
    if (dataDirectory == null || !Files.isDirectory(dataDirectory)) {
      return null; // not needed with an external database and a configured admin key
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
        return own; // another request has created it
      }
      log.warn("cannot create directory for large batches directory={}", own, e);
      return null;
    }
  }
}
