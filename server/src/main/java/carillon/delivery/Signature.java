package carillon.delivery;

import carillon.model.target.SigningSecret;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Base64;
import java.util.List;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Signs deliveries as Standard Webhooks specifies: HMAC-SHA256 of id, timestamp and body. */
public final class Signature {

  private static final String ALGORITHM = "HmacSHA256";

  private Signature() {}

  /** One signature per secret, so that receivers may hold either while secrets are rotated. */
  public static String of(String id, long timestamp, byte[] body, List<SigningSecret> secrets) {
    byte[] prefix = (id + "." + timestamp + ".").getBytes(StandardCharsets.US_ASCII);
    return secrets.stream()
        .map(secret -> "v1," + Base64.getEncoder().encodeToString(hmac(secret, prefix, body)))
        .collect(Collectors.joining(" "));
  }

  private static byte[] hmac(SigningSecret secret, byte[] prefix, byte[] body) {
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(new SecretKeySpec(secret.bytes(), ALGORITHM));
      mac.update(prefix);
      return mac.doFinal(body);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every JDK has " + ALGORITHM, e);
    }
  }
}
