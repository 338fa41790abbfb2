package carillon.model;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Optional;
import java.util.random.RandomGenerator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32;

/**
 * An API key as its holder has it: {@code carillon_<id>_<secret><checksum>}. The checksum lets
 * garbage be told from keys without asking the database, and lets scanners find leaked keys.
 *
 * @param id names the key without being secret
 */
public record KeyText(String id, String text) {

  public static final String PREFIX = "carillon_";

  private static final String ALPHABET =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  private static final int ID_CHARS = 12;
  private static final int SECRET_CHARS = 32; // 190 bits
  private static final int CHECKSUM_CHARS = 6;
  private static final Pattern SHAPE =
      Pattern.compile("carillon_([0-9A-Za-z]{12})_[0-9A-Za-z]{32}([0-9A-Za-z]{6})");

  /** A new key; {@code random} must be a secure one. */
  public static KeyText random(RandomGenerator random) {
    String id = letters(random, ID_CHARS);
    String body = PREFIX + id + "_" + letters(random, SECRET_CHARS);
    return new KeyText(id, body + checksum(body));
  }

  /** Empty if this is not the shape of a key or its checksum is wrong. */
  public static Optional<KeyText> parse(String text) {
    Matcher matcher = SHAPE.matcher(text);
    if (!matcher.matches()) {
      return Optional.empty();
    }
    String body = text.substring(0, text.length() - CHECKSUM_CHARS);
    return checksum(body).equals(matcher.group(2))
        ? Optional.of(new KeyText(matcher.group(1), text))
        : Optional.empty();
  }

  public byte[] hash() {
    return sha256(text);
  }

  public static byte[] sha256(String text) {
    return sha256().digest(text.getBytes(StandardCharsets.UTF_8));
  }

  public static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }

  /** Without the secret: this is a record, and records are easily logged. */
  @Override
  public String toString() {
    return PREFIX + id;
  }

  private static String checksum(String body) {
    CRC32 crc = new CRC32();
    crc.update(body.getBytes(StandardCharsets.US_ASCII));
    long rest = crc.getValue();
    char[] chars = new char[CHECKSUM_CHARS];
    for (int i = CHECKSUM_CHARS - 1; i >= 0; i--) {
      chars[i] = ALPHABET.charAt((int) (rest % ALPHABET.length()));
      rest /= ALPHABET.length();
    }
    return new String(chars);
  }

  private static String letters(RandomGenerator random, int count) {
    StringBuilder letters = new StringBuilder();
    for (int i = 0; i < count; i++) {
      letters.append(ALPHABET.charAt(random.nextInt(ALPHABET.length())));
    }
    return letters.toString();
  }
}
