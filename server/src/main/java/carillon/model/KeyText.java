package carillon.model;

import java.nio.charset.StandardCharsets;
import java.util.random.RandomGenerator;
import java.util.zip.CRC32;

/**
 * The text of an API key: {@code carillon_}, 27 random characters (160 bits) and 6 of checksum.
 *
 * <p>The prefix lets secret scanners find a leaked key; the checksum lets them, and us, tell a key
 * from a typing error without asking the database.
 */
public final class KeyText {

  public static final String PREFIX = "carillon_";

  private static final String ALPHABET =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  private static final int RANDOM_LENGTH = 27;
  private static final int CHECKSUM_LENGTH = 6;

  private KeyText() {}

  /** A new key; {@code random} must be a secure one. */
  public static String generate(RandomGenerator random) {
    StringBuilder body = new StringBuilder(RANDOM_LENGTH);
    for (int i = 0; i < RANDOM_LENGTH; i++) {
      body.append(ALPHABET.charAt(random.nextInt(ALPHABET.length())));
    }
    return PREFIX + body + checksum(body.toString());
  }

  /** True if the text has the form and the checksum of a generated key. */
  public static boolean isWellFormed(String text) {
    if (!text.startsWith(PREFIX)
        || text.length() != PREFIX.length() + RANDOM_LENGTH + CHECKSUM_LENGTH) {
      return false;
    }
    int split = PREFIX.length() + RANDOM_LENGTH;
    return text.substring(split).equals(checksum(text.substring(PREFIX.length(), split)));
  }

  private static String checksum(String body) {
    CRC32 crc = new CRC32();
    crc.update(body.getBytes(StandardCharsets.UTF_8));
    long rest = crc.getValue();
    char[] digits = new char[CHECKSUM_LENGTH];
    for (int i = CHECKSUM_LENGTH - 1; i >= 0; i--) {
      digits[i] = ALPHABET.charAt((int) (rest % ALPHABET.length()));
      rest /= ALPHABET.length();
    }
    return new String(digits);
  }
}
