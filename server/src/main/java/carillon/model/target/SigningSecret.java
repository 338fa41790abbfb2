package carillon.model.target;

import java.util.Arrays;

/** The key that signs the deliveries of a type. Never printed. */
public final class SigningSecret {

  private final byte[] bytes;

  public SigningSecret(byte[] bytes) {
    this.bytes = bytes.clone();
  }

  public byte[] bytes() {
    return bytes.clone();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof SigningSecret that && Arrays.equals(bytes, that.bytes);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(bytes);
  }

  @Override
  public String toString() {
    return "SigningSecret(hidden)";
  }
}
