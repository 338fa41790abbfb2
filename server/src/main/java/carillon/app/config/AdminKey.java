package carillon.app.config;

import carillon.cli.CommandFailed;
import carillon.model.KeyText;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import org.jspecify.annotations.Nullable;

/**
 * The bootstrap admin key: from the configuration, or generated once and stored in a file.
 *
 * @param value the key itself
 * @param file where it is stored; null if it was configured
 * @param isNew whether this call generated it
 */
public record AdminKey(String value, @Nullable Path file, boolean isNew) {

  static final String FILE_NAME = "admin-key";

  /** A key short enough to be guessed would expose the whole installation. */
  static final int MIN_CHARS = 32;

  static final int MAX_CHARS = 200;

  static final String RULE =
      MIN_CHARS + " to " + MAX_CHARS + " visible ASCII characters, such as `openssl rand -hex 32`";

  /** Reads the key, or generates it on the first call. */
  public static AdminKey of(Config config) {
    String given = config.access().adminKey();
    if (given != null) {
      return new AdminKey(given, null, false);
    }
    Path file = config.node().dataDir().resolve(FILE_NAME);
    try {
      boolean made = !Files.exists(file) && make(file);
      String kept = Files.readString(file).strip();
      if (kept.isEmpty()) {
        throw new CommandFailed(
            file + " is empty; delete it, and the next start generates a new admin key");
      }
      if (kept.length() < MIN_CHARS) {
        throw new CommandFailed(
            file
                + " has fewer than "
                + MIN_CHARS
                + " characters; delete it, and the next start generates a new one");
      }
      return new AdminKey(kept, file, made);
    } catch (IOException e) {
      throw new CommandFailed(
          "cannot read or write the admin key file " + file + ": " + CommandFailed.reason(e));
    }
  }

  /** Generates the key; false if another process has just done so. */
  private static boolean make(Path file) throws IOException {
    Path directory = PrivateFiles.directory(file.toAbsolutePath().getParent());
    Path draft = Files.createTempFile(directory, FILE_NAME, ".new"); // mode 0600 by itself
    try {
      Files.writeString(draft, KeyText.random(new SecureRandom()).text() + "\n");
      Files.createLink(file, draft);
      return true;
    } catch (FileAlreadyExistsException _) {
      return false;
    } finally {
      Files.delete(draft);
    }
  }

  @Override
  public String toString() {
    return "AdminKey[***]";
  }
}
