package carillon.chaos.mutants;

import java.nio.ByteBuffer;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Returns a random hash, so that the task of a fire gets a new id each time the fire is planned.
 */
public final class RandomFireHash {

  private static final int BYTES = 32;

  private RandomFireHash() {}

  public static ByteBuffer sha256(Object text) {
    byte[] bytes = new byte[BYTES];
    ThreadLocalRandom.current().nextBytes(bytes);
    return ByteBuffer.wrap(bytes);
  }
}
