package carillon.chaos.faults;

import java.util.Locale;

/** A way in which a cluster breaks. */
public enum Fault {
  /** A process is gone without a word; another is started later. */
  KILL9(Hits.NODE, 3, 500, 3_000),
  /** All processes at once. */
  KILL_ALL(Hits.ALL, 1, 300, 1_500),
  /** A process is asked to stop. */
  TERM(Hits.NODE, 1, 300, 1_500),
  /** Its clock stops for less than its lease lasts. */
  PAUSE_SHORT(Hits.NODE, 1, 500, 1_600),
  /** For longer: others take over, then it wakes up. */
  PAUSE_LONG(Hits.NODE, 3, 4_200, 6_500),
  /** Again and again for a moment. */
  FLAP(Hits.NODE, 1, 4_000, 6_000),
  /** Sessions that nobody uses end. */
  BACKEND_KILL_IDLE(Hits.NODE, 1, 0, 1),
  /** Sessions end in the middle of a claim, whosever they are. */
  BACKEND_KILL_CLAIM(Hits.NOBODY, 1, 1_500, 2_500),
  /** Transactions are committed, and nobody hears of it. */
  AMBIGUOUS_COMMIT(Hits.NODE, 3, 2_000, 3_500),
  /** Every connection is reset. */
  RESET(Hits.NODE, 1, 0, 1),
  LEADER_BACKEND_KILL(Hits.NOBODY, 1, 0, 1),
  LEADER_KILL(Hits.NOBODY, 1, 500, 2_000),
  LEADER_PAUSE(Hits.NOBODY, 2, 4_200, 6_000),
  PG_RESTART_FAST(Hits.DATABASE, 1, 200, 1_000),
  /** As if the machine of the database had lost its power, but for its disk's cache. */
  PG_CRASH(Hits.DATABASE, 2, 300, 1_500),
  PG_FREEZE(Hits.DATABASE, 1, 2_000, 4_500),
  /** Nothing passes between a node and the database. */
  DROP(Hits.NODE, 1, 2_000, 6_000),
  /** What it says arrives, what is answered does not. */
  HALF(Hits.NODE, 2, 2_000, 6_000),
  DELAY(Hits.NODE, 1, 3_000, 6_000),
  /** Nodes are cut off one after the other, and let back in another order. */
  SWIZZLE(Hits.ALL, 1, 3_000, 5_000),
  /** A reader keeps everything that was, for a while. */
  HELD_SNAPSHOT(Hits.NOBODY, 1, 8_000, 12_000),
  /** Somebody locks the tasks against writers. */
  LOCK_TABLE(Hits.DATABASE, 1, 1_500, 4_000);

  /** What a fault needs for itself while it lasts. */
  enum Hits {
    NODE,
    ALL,
    DATABASE,
    NOBODY
  }

  final Hits hits;

  /** How many of it are in a deck. */
  final int cards;

  final int shortestMillis;
  final int longestMillis;

  Fault(Hits hits, int cards, int shortestMillis, int longestMillis) {
    this.hits = hits;
    this.cards = cards;
    this.shortestMillis = shortestMillis;
    this.longestMillis = longestMillis;
  }

  public String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
