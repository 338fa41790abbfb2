package carillon.model.cluster;

/** Divides lanes among nodes: a shard is every 64th lane. */
public final class Shards {

  public static final int COUNT = 64;

  private Shards() {}

  /** Lanes of one type have consecutive numbers, so its slices are in different shards. */
  public static int of(int lane) {
    return Math.floorMod(lane, COUNT);
  }
}
