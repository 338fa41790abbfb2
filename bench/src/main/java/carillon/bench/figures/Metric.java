package carillon.bench.figures;

/**
 * A measured quantity: its key in the JSON, its heading in the tables, and how many decimals are
 * shown.
 */
public enum Metric {
  RATE("rate", "tasks/s", 0),
  FIRST("firstMs", "first ms", 1),
  P50("p50Ms", "p50 ms", 1),
  P99("p99Ms", "p99 ms", 1),
  P999("p999Ms", "p99.9 ms", 1),
  MAX("maxMs", "max ms", 1),
  LAST("lastMs", "last ms", 1),
  BASE("baseRate", "base tasks/s", 0),
  RATIO("ratio", "ratio", 2),
  MIN_SHARE("minShare", "min share", 2),
  CPU_CLIENT("cpuClient", "CPU program", 2),
  CPU_SERVER("cpuServer", "CPU server", 2),
  DISK("diskBytes", "disk bytes", 0),
  DISK_TASK("diskBytesTask", "of task", 0),
  DISK_QUEUE("diskBytesQueue", "of queue", 0),
  DISK_CLAIM("diskBytesClaim", "of claim", 0),
  WAL("walBytes", "WAL bytes", 0),
  WAL_LOAD("walBytesLoad", "of load", 0),
  WAL_DRAIN("walBytesDrain", "of drain", 0),
  STATEMENTS("statements", "statements", 4),
  TASK_STATEMENTS("taskStatements", "claims and ends", 4),
  IDLE_STATEMENTS("idleStatements", "idle/s", 1),
  LOCK_WAIT("lockWaitMicros", "lock wait µs", 2),
  LOCK_WAITS("longLockWaits", "waits > 10 ms", 0),
  WITHOUT("coreWithout", "core % without", 2),
  WITH("coreWith", "core % with", 2),
  DIFFERENCE("coreDifference", "difference", 2),
  STATEMENTS_WITHOUT("statementsWithout", "statements/s without", 1),
  STATEMENTS_WITH("statementsWith", "statements/s with", 1),
  EVENTS("events", "events/s", 0),
  RSS("rssMb", "RSS MB", 0),
  RSS_PEAK("rssPeakMb", "peak MB", 0),
  OTHER("cpuOther", "other cores", 2);

  public final String key;
  public final String heading;
  public final int decimals;

  Metric(String key, String heading, int decimals) {
    this.key = key;
    this.heading = heading;
    this.decimals = decimals;
  }
}
