package carillon.model.cluster;

/** How lanes are shared out between nodes: a shard is every 64th lane. */
public final class Shards {

  public static final int COUNT = 64;

  private Shards() {}

  /** Lanes of one type have numbers in a row, so its slices lie in different shards. */
  public static int of(int lane) {
    return Math.floorMod(lane, COUNT);
  }
}
