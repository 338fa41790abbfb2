package carillon.app.postgres;

import carillon.cli.CommandFailed;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Keeps a second program out of a data directory. The system drops it when the process ends,
 * however it ends.
 */
final class DirectoryLock implements AutoCloseable {

  private final FileChannel channel;

  private DirectoryLock(FileChannel channel) {
    this.channel = channel;
  }

  static DirectoryLock take(Path directory) throws IOException {
    FileChannel channel =
        FileChannel.open(
            directory.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    if (isFree(channel)) {
      return new DirectoryLock(channel);
    }
    channel.close();
    throw new CommandFailed(
        "the data directory "
            + directory
            + " is in use by another carillon; stop it or choose another --data-dir");
  }

  private static boolean isFree(FileChannel channel) throws IOException {
    try {
      return channel.tryLock() != null;
    } catch (OverlappingFileLockException _) { // held by this same process
      return false;
    }
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
