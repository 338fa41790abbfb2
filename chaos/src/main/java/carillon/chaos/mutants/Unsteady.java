package carillon.chaos.mutants;

import java.nio.ByteBuffer;
import java.util.concurrent.ThreadLocalRandom;

/** Gives the task of a fire another id whenever it is planned. */
public final class Unsteady {

  private static final int BYTES = 32;

  private Unsteady() {}

  public static ByteBuffer sha256(Object text) {
    byte[] bytes = new byte[BYTES];
    ThreadLocalRandom.current().nextBytes(bytes);
    return ByteBuffer.wrap(bytes);
  }
}
