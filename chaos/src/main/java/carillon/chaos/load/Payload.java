package carillon.chaos.load;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.SplittableRandom;

/** Payloads of tasks: the tenant's marker, the number of the task, and some text to compare. */
final class Payload {

  private Payload() {}

  static String of(Tenant tenant, long n, SplittableRandom random) {
    return "{\"marker\":\"%s\",\"n\":%d,\"text\":\"%s\"}"
        .formatted(
            tenant.marker(), n, "x\\n\u00e9".repeat(random.nextInt(1, 6)) + random.nextInt(1000));
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
