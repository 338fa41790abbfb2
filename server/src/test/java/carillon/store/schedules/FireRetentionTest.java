package carillon.store.schedules;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.testkit.ScheduleRows;
import carillon.testkit.World;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class FireRetentionTest {

  private static final Duration RETENTION = Duration.ofDays(30);

  private World world;
  private ScheduleRows scheduled;
  private long schedule;

  @BeforeEach
  void open() {
    world = World.create();
    scheduled = new ScheduleRows(world);
    schedule = scheduled.every("s", 60);
  }

  @AfterEach
  void close() {
    world.close();
  }

  private void setRecorded(String ago, String where) {
    world.sql(
        "UPDATE carillon.schedule_fire SET recorded_at = now() - interval '%s' WHERE %s"
            .formatted(ago, where));
  }

  private String remaining() {
    return world.value("SELECT count(*) FROM carillon.schedule_fire");
  }

  @Test
  void settled_fires_are_deleted_by_age() {
    scheduled.recordSkip(schedule, "2025-10-01T10:00:00Z", "OVERLAP");
    scheduled.recordSkip(schedule, "2025-10-01T10:01:00Z", "PAUSED"); // recorded recently
    scheduled.recordTask(schedule, "2025-10-01T10:02:00Z", "UTC");
    scheduled.recordTask(schedule, "2025-10-01T10:03:00Z", "UTC"); // unsettled
    world.sql(
        "UPDATE carillon.schedule_fire SET outcome = 'COMPLETED' WHERE at ="
            + " '2025-10-01T10:02:00Z'");
    setRecorded("31 days", "at <> '2025-10-01T10:01:00Z'");
    setRecorded("29 days", "at = '2025-10-01T10:01:00Z'");

    assertThat(world.store.fireRetention().forgetOld(RETENTION, 100)).isEqualTo(2);
    assertThat(world.store.fireRetention().forgetDeleted(100)).isZero();
    assertThat(scheduled.fires(schedule))
        .isEqualTo("10:01:00 SCHEDULED PAUSED, 10:03:00 SCHEDULED task");
  }

  @Test
  void old_fires_of_a_deleted_schedule_are_deleted_even_if_unsettled() {
    scheduled.recordTask(schedule, "2025-10-01T10:00:00Z", "UTC");
    setRecorded("31 days", "true");
    world.sql("DELETE FROM carillon.schedule");

    assertThat(world.store.fireRetention().forgetOld(RETENTION, 100)).isEqualTo(1);
  }

  @Test
  void fires_of_deleted_schedules_are_deleted_at_any_age() {
    long other = scheduled.every("other", 60);
    long third = scheduled.every("third", 60);
    for (long each : new long[] {schedule, other, third}) {
      for (int minute = 10; minute < 15; minute++) {
        scheduled.recordTask(each, "2025-10-01T10:%d:00Z".formatted(minute), "UTC");
      }
    }
    world.sql("DELETE FROM carillon.schedule WHERE name <> 'other'");

    assertThat(world.store.fireRetention().forgetDeleted(7)).isEqualTo(7);
    assertThat(world.store.fireRetention().forgetDeleted(7)).isEqualTo(3);
    assertThat(world.store.fireRetention().forgetDeleted(7)).isZero();
    assertThat(remaining()).isEqualTo("5");
    assertThat(world.value("SELECT DISTINCT schedule FROM carillon.schedule_fire"))
        .isEqualTo(String.valueOf(other));
  }

  @Test
  void the_next_pass_continues_after_the_last_schedule() {
    world.sql(
        """
        INSERT INTO carillon.schedule_fire (schedule, at, local, shift, kind, skipped)
        SELECT n, '2025-10-01T10:00:00Z', '2025-10-01T10:00:00', 'NONE', 'SCHEDULED', 'PAUSED'
        FROM generate_series(1001, 3500) AS n
        """);

    assertThat(world.store.fireRetention().forgetDeleted(5_000)).isEqualTo(1_000);
    assertThat(world.store.fireRetention().forgetDeleted(5_000)).isEqualTo(1_000);
    assertThat(world.store.fireRetention().forgetDeleted(5_000)).isEqualTo(500);
    assertThat(remaining()).isEqualTo("0");
  }

  @Test
  void the_number_of_deleted_fires_is_bounded() {
    for (int minute = 10; minute < 15; minute++) {
      scheduled.recordSkip(schedule, "2025-10-01T10:%d:00Z".formatted(minute), "OVERLAP");
    }
    setRecorded("31 days", "true");

    assertThat(world.store.fireRetention().forgetOld(RETENTION, 3)).isEqualTo(3);
    assertThat(remaining()).isEqualTo("2");
  }
}
