package carillon.chaos.load;

import java.nio.charset.StandardCharsets;
import java.util.SplittableRandom;

/**
 * Makes of one seed as many streams of chance as there are names, none of which depends on what is
 * drawn from another.
 */
public record Streams(long seed) {

  /** Always the same for the same name. */
  public SplittableRandom of(String name) {
    return new SplittableRandom(mixed(name));
  }

  /** A number for a name and a number, without drawing all before it. */
  long at(String name, long index) {
    return new SplittableRandom(mixed(name) + index * 0x9e3779b97f4a7c15L).nextLong();
  }

  private long mixed(String name) {
    long hash = seed ^ 0xcbf29ce484222325L;
    for (byte each : name.getBytes(StandardCharsets.UTF_8)) {
      hash = (hash ^ each) * 0x100000001b3L;
    }
    return hash;
  }
}
