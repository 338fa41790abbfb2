package carillon.api.http;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.SecretKey;

/**
 * Positions in lists, sealed with a MAC so that only the same list of the same tenant accepts them.
 */
public final class Cursors {

  private static final String MAC = "HmacSHA256";
  private static final int MAC_BYTES = 16;
  private static final int MAX_CHARS = 512;

  private final SecretKey secret;

  public Cursors(SecretKey secret) {
    this.secret = secret;
  }

  /**
   * The cursor for a position of a list.
   *
   * @param list names the tenant, the list and its filter
   */
  public String seal(String list, String position) {
    byte[] text = position.getBytes(StandardCharsets.UTF_8);
    byte[] sealed = Arrays.copyOf(mac(list, text), MAC_BYTES + text.length);
    System.arraycopy(text, 0, sealed, MAC_BYTES, text.length);
    return encode(sealed);
  }

  private static String encode(byte[] sealed) {
    return Base64.getUrlEncoder().withoutPadding().encodeToString(sealed);
  }

  public String open(String list, String cursor) {
    if (cursor.length() <= MAX_CHARS) {
      try {
        byte[] sealed = Base64.getUrlDecoder().decode(cursor);
        // The decoder also accepts padding and stray bits at the end; a cursor has one spelling.
        if (sealed.length > MAC_BYTES && encode(sealed).equals(cursor)) {
          byte[] text = Arrays.copyOfRange(sealed, MAC_BYTES, sealed.length);
          if (MessageDigest.isEqual(mac(list, text), Arrays.copyOf(sealed, MAC_BYTES))) {
            return new String(text, StandardCharsets.UTF_8);
          }
        }
      } catch (IllegalArgumentException e) {
        throw invalid(); // not base64
      }
    }
    throw invalid();
  }

  public static ApiException invalid() {
    return new ApiException(
        ErrorCode.INVALID_CURSOR, "the cursor does not belong to this list; start without one");
  }

  private byte[] mac(String list, byte[] position) {
    try {
      Mac mac = Mac.getInstance(MAC);
      mac.init(secret);
      mac.update(list.getBytes(StandardCharsets.UTF_8));
      mac.update((byte) 0);
      return Arrays.copyOf(mac.doFinal(position), MAC_BYTES);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("Java must support " + MAC, e);
    }
  }
}
