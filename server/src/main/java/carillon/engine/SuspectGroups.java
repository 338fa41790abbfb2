package carillon.engine;

/**
 * How many suspects may run at once on a node, by their number of crashes. Each crash narrows the
 * search by the same factor: from all tasks of a node to a group, then to smaller groups, and
 * before the last crash to a single task.
 *
 * @param seats how many tasks a node may run; all of them are suspects after its first crash
 * @param poisonCrashes after this many crashes a task is dead
 */
record SuspectGroups(int seats, int poisonCrashes) {

  /** A task with one crash left runs alone, so that no innocent task is blamed for it. */
  static final int ALONE = 1;

  /** The size of the largest group that a task with this many crashes may be in. */
  int size(int crashes) {
    int left = poisonCrashes - 1 - Math.max(1, crashes);
    if (left <= 0) {
      return ALONE;
    }
    // With 512 seats and 3 crashes: 512, then 23, then 1.
    return Math.max(ALONE, (int) Math.ceil(Math.pow(seats, (double) left / (poisonCrashes - 1))));
  }

  /**
   * How many suspects may wait on a node: enough for the next group. They hold seats, and other
   * nodes cannot run them.
   */
  int maxWaiting() {
    return Math.max(1, Math.min(Math.max(16, 2 * size(1)), seats / 2));
  }
}
