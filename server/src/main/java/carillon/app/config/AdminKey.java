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
 * The key that the first administrator uses: given in the configuration, or made once and kept.
 *
 * @param value the key itself
 * @param file where it is kept; null if it was given
 * @param isNew true if this call made it
 */
public record AdminKey(String value, @Nullable Path file, boolean isNew) {

  static final String FILE_NAME = "admin-key";

  /** A key that can be tried out gives away the whole installation. */
  static final int MIN_CHARS = 32;

  static final int MAX_CHARS = 200;

  static final String RULE =
      MIN_CHARS + " to " + MAX_CHARS + " visible ASCII characters, such as `openssl rand -hex 32`";

  /** Finds the key, or makes it; asked again it answers the same. */
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
        throw new CommandFailed(file + " is empty; remove it and a new admin key is made");
      }
      if (kept.length() < MIN_CHARS) {
        throw new CommandFailed(
            file + " has fewer than " + MIN_CHARS + " characters; remove it and a new key is made");
      }
      return new AdminKey(kept, file, made);
    } catch (IOException e) {
      throw new CommandFailed(
          "the admin key " + file + " cannot be kept: " + CommandFailed.reason(e));
    }
  }

  /** True if it was ours that got the name; another process may be making one at the same time. */
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
