package carillon.testkit;

import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;

/** A schedule to be inserted with SQL, with a simple default for every column. */
public final class TestSchedule {

  private final Map<String, String> columns = new LinkedHashMap<>();

  private TestSchedule(String name) {
    with("tenant", 1);
    with("name", name);
    with("timezone", "UTC");
    with("dst_gap", "SHIFT");
    with("dst_overlap", "FIRST");
    with("overlap", "ALLOW");
    with("catch_up", "LAST");
    with("catch_up_limit", 100);
    with("catch_up_window_ms", Duration.ofDays(7).toMillis());
    with("jitter_ms", 0);
    with("type", "t");
    with("payload", "{}");
    with("target", "{\"discard\": {}}");
  }

  public static TestSchedule every(String name, Duration interval) {
    return new TestSchedule(name).with("every_ms", interval.toMillis());
  }

  public static TestSchedule cron(String name, String cron, String zone) {
    return new TestSchedule(name).with("cron", cron).with("timezone", zone);
  }

  public TestSchedule with(String column, Object value) {
    columns.put(column, "'" + value.toString().replace("'", "''") + "'");
    return this;
  }

  /** Sets the time of creation; earlier nominal times do not fire. */
  public TestSchedule createdAt(Instant now) {
    for (String column : new String[] {"created_at", "updated_at", "cursor", "plan_at"}) {
      with(column, now);
    }
    columns.putIfAbsent("anchor", "'" + now + "'");
    return this;
  }

  /** The statement that inserts the schedule. */
  public String sql() {
    String names = String.join(", ", columns.keySet());
    String values = columns.values().stream().collect(Collectors.joining(", "));
    return "INSERT INTO carillon.schedule (" + names + ") VALUES (" + values + ")";
  }

  public long insert(World world, Instant now) {
    createdAt(now);
    return Long.parseLong(world.value(sql() + " RETURNING id"));
  }
}
