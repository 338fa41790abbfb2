package carillon.engine.upkeep;

import carillon.store.deadletters.ArchivedTask;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.zip.GZIPOutputStream;

/**
 * A directory of compressed NDJSON files that only their owner may read, because they hold tenants'
 * payloads. A file under its final name is complete, and survives a power failure.
 */
final class ArchiveFiles {

  private static final FileAttribute<Set<PosixFilePermission>> OWNER_ONLY_DIRECTORY =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
  private static final FileAttribute<Set<PosixFilePermission>> OWNER_ONLY_FILE =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));

  private static final String UNFINISHED = ".part";

  private static final int BUFFER = 64 << 10;

  private final Path directory;
  private final Function<ArchivedTask, String> line;

  ArchiveFiles(Path directory, Function<ArchivedTask, String> line) {
    this.directory = directory;
    this.line = line;
  }

  /** Writes the tasks to a new file; returns when it is on disk under its name. */
  void write(String name, List<ArchivedTask> tasks) throws IOException {
    if (!Files.isDirectory(directory)) {
      Files.createDirectories(directory, OWNER_ONLY_DIRECTORY);
    }
    Path unfinished = directory.resolve(name + UNFINISHED);
    Path file = directory.resolve(name);
    boolean isDone = false;
    try {
      writeDurably(unfinished, tasks);
      Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
      try (FileChannel entries = FileChannel.open(directory, StandardOpenOption.READ)) {
        entries.force(true); // or a crash could lose the name
      }
      isDone = true;
    } finally {
      if (!isDone) { // the next pass tries again: leftovers must not fill the disk
        Files.deleteIfExists(unfinished);
        Files.deleteIfExists(file);
      }
    }
  }

  private void writeDurably(Path file, List<ArchivedTask> tasks) throws IOException {
    try (FileChannel channel =
            FileChannel.open(
                file,
                Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
                OWNER_ONLY_FILE);
        GZIPOutputStream zipped = new GZIPOutputStream(Channels.newOutputStream(channel), BUFFER)) {
      BufferedWriter out =
          new BufferedWriter(new OutputStreamWriter(zipped, StandardCharsets.UTF_8));
      for (ArchivedTask each : tasks) {
        out.write(line.apply(each));
        out.write('\n');
      }
      out.flush();
      zipped.finish();
      channel.force(true);
    }
  }

  void delete(String name) throws IOException {
    Files.deleteIfExists(directory.resolve(name));
  }

  @Override
  public String toString() {
    return directory.toString();
  }
}
