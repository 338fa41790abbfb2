package carillon.model.task;

import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.Optional;
import java.util.UUID;

/**
 * The opaque token of one claim. It needs no signature: it holds a random UUID that only the
 * claimer received.
 */
public final class ClaimToken {

  private static final int BYTES = Integer.BYTES + 2 * Long.BYTES;
  private static final int CHARS = 27;

  private ClaimToken() {}

  public static String of(Lease lease) {
    ByteBuffer bytes = ByteBuffer.allocate(BYTES);
    bytes.putInt(lease.fence());
    bytes.putLong(lease.claim().getMostSignificantBits());
    bytes.putLong(lease.claim().getLeastSignificantBits());
    return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes.array());
  }

  public static Optional<Lease> parse(String token) {
    if (token.length() != CHARS) {
      return Optional.empty();
    }
    try {
      ByteBuffer bytes = ByteBuffer.wrap(Base64.getUrlDecoder().decode(token));
      Lease lease = new Lease(bytes.getInt(), new UUID(bytes.getLong(), bytes.getLong()));
      // Base64 has spare bits at the end; reject other spellings, so that a claim has one token.
      return of(lease).equals(token) ? Optional.of(lease) : Optional.empty();
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
  }
}
