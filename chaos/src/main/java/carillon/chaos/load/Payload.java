package carillon.chaos.load;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.SplittableRandom;

/** Payloads of tasks: the tenant's marker, the number of the task, and some text to compare. */
final class Payload {

  private static final int MAX_REPEATS = 5;

  private Payload() {}

  /** A payload of a new task. */
  static String of(Tenant tenant, long n, SplittableRandom random) {
    return of(tenant, n, usualRepeats(n), random);
  }

  /** A payload for an edit of a task, most often of the same length as the task's first payload. */
  static String edited(Tenant tenant, long n, SplittableRandom random) {
    int repeats = random.nextInt(4) > 0 ? usualRepeats(n) : random.nextInt(MAX_REPEATS) + 1;
    return of(tenant, n, repeats, random);
  }

  private static int usualRepeats(long n) {
    return (int) (n % MAX_REPEATS) + 1;
  }

  private static String of(Tenant tenant, long n, int repeats, SplittableRandom random) {
    return "{\"marker\":\"%s\",\"n\":%d,\"text\":\"%s%03d\"}"
        .formatted(tenant.marker(), n, "x\\n\u00e9".repeat(repeats), random.nextInt(1000));
  }

  static String ofSchedule(Tenant tenant, String name) {
    return "{\"marker\":\"%s\",\"schedule\":\"%s\"}".formatted(tenant.marker(), name);
  }

  static String hash(String payload) {
    try {
      byte[] hash =
          MessageDigest.getInstance("SHA-256").digest(payload.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(hash, 0, 8);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }
}
