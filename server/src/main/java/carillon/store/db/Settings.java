package carillon.store.db;

import java.time.Duration;
import java.util.Map;
import java.util.SortedMap;
import java.util.StringJoiner;
import java.util.TreeMap;

/**
 * The settings of every transaction, set for the session or, behind a pooler, by each transaction.
 */
record Settings(SortedMap<String, String> values) {

  /**
   * Without these, the planner flips to a sequential scan or a hash join per batch when its
   * statistics are stale; every hot statement has an index and a plan test. Where it expects many
   * rows, it would start parallel workers, which takes longer than any of our statements. With an
   * incremental sort, it may replace the index in the wanted order by one that begins with the
   * tenant, and read all rows of the tenant. With a bitmap scan, a claim would read all due tasks
   * of a lane and sort them, because a queue that was empty when it was last analyzed seems empty.
   * The remaining plan is good for one task and for thousands, so it is cached: planning a claim of
   * one task takes longer than the claim.
   */
  private static final Map<String, String> INDEX_PLANS =
      Map.of(
          "enable_seqscan", "off",
          "enable_bitmapscan", "off",
          "enable_hashjoin", "off",
          "enable_mergejoin", "off",
          "enable_incremental_sort", "off",
          "jit", "off",
          "max_parallel_workers_per_gather", "0",
          "plan_cache_mode", "force_generic_plan");

  private static final Map<String, String> TIMEOUTS =
      Map.of("lock_timeout", "2s", "idle_in_transaction_session_timeout", "10s");

  /**
   * @param statementTimeout of the server
   */
  static Settings of(Duration statementTimeout) {
    SortedMap<String, String> values = new TreeMap<>(INDEX_PLANS);
    values.putAll(TIMEOUTS);
    values.put("statement_timeout", String.valueOf(statementTimeout.toMillis()));
    return new Settings(values);
  }

  /** For the start of a session. */
  String asOptions() {
    StringJoiner options = new StringJoiner(" ");
    values.forEach((name, value) -> options.add("-c " + name + "=" + value));
    return options.toString();
  }

  /** All of them at once, for one transaction. */
  String asStatement() {
    StringJoiner calls = new StringJoiner(",\n       ", "/* Db.settings */\nSELECT ", "");
    values.forEach(
        (name, value) -> calls.add("set_config('%s', '%s', true)".formatted(name, value)));
    return calls.toString();
  }
}
