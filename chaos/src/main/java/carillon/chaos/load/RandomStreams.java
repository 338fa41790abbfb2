package carillon.chaos.load;

import java.nio.charset.StandardCharsets;
import java.util.SplittableRandom;

/** Derives one independent stream of random numbers per name from a single seed. */
public record RandomStreams(long seed) {

  /** The same name always returns the same stream. */
  public SplittableRandom of(String name) {
    return new SplittableRandom(mixed(name));
  }

  /** One number of a stream by its index, without drawing the numbers before it. */
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
