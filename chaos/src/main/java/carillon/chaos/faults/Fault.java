package carillon.chaos.faults;

import java.util.Locale;

/** A kind of fault. */
public enum Fault {
  /** Kills a process with SIGKILL and starts it again later. */
  KILL9(Scope.NODE, 3, 500, 3_000),
  /** Kills all processes at once. */
  KILL_ALL(Scope.ALL_NODES, 1, 300, 1_500),
  /** Stops a process with SIGTERM and starts it again later. */
  SIGTERM(Scope.NODE, 1, 300, 1_500),
  /** Pauses a process for less than its lease. */
  PAUSE_SHORT(Scope.NODE, 1, 500, 1_600),
  /** Pauses a process for longer than its lease: other nodes take over, then it resumes. */
  PAUSE_LONG(Scope.NODE, 3, 4_200, 6_500),
  /** Pauses a process repeatedly for short times. */
  FLAP(Scope.NODE, 1, 4_000, 6_000),
  /** Terminates idle database sessions of a node. */
  BACKEND_KILL_IDLE(Scope.NODE, 1, 0, 1),
  /** Terminates database sessions of any node while they claim. */
  BACKEND_KILL_CLAIM(Scope.NONE, 1, 1_500, 2_500),
  /** Lets transactions commit, but drops the response. */
  AMBIGUOUS_COMMIT(Scope.NODE, 3, 2_000, 3_500),
  /** Resets every database connection of a node. */
  RESET(Scope.NODE, 1, 0, 1),
  LEADER_BACKEND_KILL(Scope.NONE, 1, 0, 1),
  LEADER_KILL(Scope.NONE, 1, 500, 2_000),
  LEADER_PAUSE(Scope.NONE, 2, 4_200, 6_000),
  PG_RESTART_FAST(Scope.DATABASE, 1, 200, 1_000),
  /**
   * Crashes the database, as a power loss would, except that the operating system's cache survives.
   */
  PG_CRASH(Scope.DATABASE, 2, 300, 1_500),
  PG_FREEZE(Scope.DATABASE, 1, 2_000, 4_500),
  /** Blocks all traffic between a node and the database. */
  PARTITION(Scope.NODE, 1, 2_000, 6_000),
  /** Blocks only the responses of the database to a node. */
  ONE_WAY_PARTITION(Scope.NODE, 2, 2_000, 6_000),
  DELAY(Scope.NODE, 1, 3_000, 6_000),
  /** Cuts nodes off one after the other, and reconnects them in another order. */
  ROLLING_PARTITION(Scope.ALL_NODES, 1, 3_000, 5_000),
  /** Holds a snapshot open, so that vacuum cannot remove old row versions. */
  HELD_SNAPSHOT(Scope.NONE, 1, 8_000, 12_000),
  /** Locks the table of tasks or that of the queue against writers. */
  LOCK_TABLE(Scope.DATABASE, 1, 1_500, 4_000);

  /** What a fault occupies while it lasts; two faults never occupy the same. */
  enum Scope {
    NODE,
    ALL_NODES,
    DATABASE,
    NONE
  }

  final Scope scope;

  /** Its relative frequency in a plan. */
  final int weight;

  /** Limits of its length. */
  final int minMillis;

  final int maxMillis;

  Fault(Scope scope, int weight, int minMillis, int maxMillis) {
    this.scope = scope;
    this.weight = weight;
    this.minMillis = minMillis;
    this.maxMillis = maxMillis;
  }

  public String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
