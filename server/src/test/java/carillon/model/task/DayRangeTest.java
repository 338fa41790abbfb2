package carillon.model.task;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.Partition;
import carillon.model.TaskId;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DayRangeTest {

  private static final Instant NOW = Instant.parse("2026-11-18T01:02:03Z");

  @ParameterizedTest
  @CsvSource({
    "2026-11-18T01:02:03Z, 2026-11-18, 2026-11-18",
    "2020-05-05T00:00:00Z, 2020-05-05, 2020-05-05",
    "2026-12-20T23:59:59Z, 2026-12-20, 2026-12-20",
    "2026-12-21T00:00:00Z, 2026-12-01, 2026-12-31",
    "2027-02-15T12:00:00Z, 2027-02-01, 2027-02-28",
    "2027-11-19T23:59:59Z, 2027-11-01, 2027-11-30",
    "2027-11-20T00:00:00Z, 2027-10-01, 2027-12-31",
    "2028-11-19T00:00:00Z, 2028-10-01, 2028-12-31",
    "2028-11-20T00:00:00Z, 2028-01-01, 2028-12-31",
    "2031-06-01T00:00:00Z, 2031-01-01, 2031-12-31"
  })
  void near_days_have_their_own_partition_and_far_days_share_one(
      Instant dueAt, LocalDate first, LocalDate last) {
    assertThat(DayRange.of(dueAt, NOW)).isEqualTo(new DayRange(first, last));
  }

  @Test
  void id_timestamps_lie_in_the_partition_and_keep_the_order_of_due_times() {
    Random random = new Random(21);
    for (int round = 0; round < 2_000; round++) {
      Instant now = NOW.plus(Duration.ofHours(random.nextInt(100_000)));
      Instant due = now.plusMillis(random.nextLong(Duration.ofDays(2_000).toMillis()));
      DayRange days = DayRange.of(due, now);
      TaskId id = TaskId.at(days.idTime(due), 7, random);

      assertThat(id.partition()).isEqualTo(days.partition());
      assertThat(Partition.of(due).day()).isBetween(days.first(), days.last());
      Instant later = due.plus(Duration.ofHours(2));
      if (DayRange.of(later, now).equals(days)) {
        assertThat(days.idTime(later)).isAfter(days.idTime(due));
      }
    }
  }

  @Test
  void the_last_instant_of_a_range_is_in_its_partition() {
    for (int ahead = 0; ahead < 2_000; ahead++) {
      DayRange days = DayRange.of(NOW.plus(Duration.ofDays(ahead)), NOW);
      Instant end = days.last().plusDays(1).atStartOfDay(ZoneOffset.UTC).toInstant().minusNanos(1);

      assertThat(Partition.of(days.idTime(end))).isEqualTo(days.partition());
    }
  }

  @Test
  void a_shared_range_starts_after_the_creation_of_its_tasks() {
    for (int hour = 0; hour < 24 * 800; hour += 7) {
      Instant now = NOW.plus(Duration.ofHours(hour));
      for (int ahead = 0; ahead < 1_000; ahead += 3) {
        DayRange days = DayRange.of(now.plus(Duration.ofDays(ahead)), now);
        if (days.isShared()) {
          assertThat(days.first()).isAfter(Partition.of(now).day());
        }
      }
    }
  }

  @Test
  void five_years_of_due_times_need_few_partitions() {
    for (int today = 0; today < 400; today++) {
      Instant now = NOW.plus(Duration.ofDays(today));
      Set<Partition> partitions = new HashSet<>();
      for (int ahead = 0; ahead <= 5 * 366; ahead++) {
        partitions.add(DayRange.of(now.plus(Duration.ofDays(ahead)), now).partition());
      }

      assertThat(partitions).hasSizeLessThanOrEqualTo(33 + 12 + 5 + 4);
    }
  }

  @Test
  void quarters_cover_all_due_times_with_a_quarter_partition() {
    assertThat(DayRange.quarters(NOW))
        .hasSize(9)
        .startsWith(new DayRange(LocalDate.of(2026, 10, 1), LocalDate.of(2026, 12, 31)))
        .endsWith(new DayRange(LocalDate.of(2028, 10, 1), LocalDate.of(2028, 12, 31)));
  }
}
