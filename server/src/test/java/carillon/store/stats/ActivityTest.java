package carillon.store.stats;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.TenantId;
import carillon.model.task.Counts;
import carillon.model.task.Counts.Kind;
import carillon.store.stats.ActivityReader.Lately;
import carillon.store.stats.ActivityReader.Of;
import carillon.store.stats.ActivityReader.Since;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ActivityTest {

  private static final Instant NOW = Instant.parse("2027-01-31T12:34:45Z");

  private World world;
  private Activity activity;
  private ActivityReader reader;

  @BeforeEach
  void open() {
    world = World.create();
    activity = new Activity(world.db);
    reader = new ActivityReader(world.db);
  }

  @AfterEach
  void close() {
    world.close();
  }

  private static Counts counts(int completed) {
    Counts counts = new Counts();
    for (int i = 0; i < completed; i++) {
      counts.add(Kind.COMPLETED);
      counts.addStarted(NOW, NOW.plusMillis(i));
    }
    return counts;
  }

  /** Inserts a row with a past time. */
  private void row(int span, String at, int completed) {
    world.sql(
        """
        INSERT INTO carillon.activity (span, tenant, type, at, started, completed, late)
        VALUES (%d, 1, 't', '%s', %d, %d, '{%d,0,0,0,0,0,0,0,0,0,0,0,0,0,0}')
        """
            .formatted(span, at, completed, completed, completed));
  }

  private Lately lately() {
    Of of = Of.type(World.TENANT, "t");
    return Objects.requireNonNull(reader.lately(List.of(of), NOW).get(of));
  }

  private static long completed(Since since) {
    return since.counts().of(Kind.COMPLETED);
  }

  @Test
  void concurrent_additions_are_not_lost_and_do_not_deadlock() throws Exception {
    int nodes = 4;
    try (ExecutorService pool = Executors.newFixedThreadPool(nodes)) {
      List<Future<?>> additions = new ArrayList<>();
      for (int node = 0; node < nodes; node++) {
        int first = node;
        additions.add(
            pool.submit(
                () -> {
                  for (int round = 0; round < 20; round++) {
                    List<Activity.Row> rows = new ArrayList<>();
                    for (int type = 0; type < 20; type++) { // each thread in a different order
                      rows.add(new Activity.Row(1, "t" + (first * 5 + type) % 20, counts(3)));
                    }
                    activity.add(rows);
                  }
                }));
      }
      for (Future<?> addition : additions) {
        addition.get();
      }
    }

    Of of = Of.type(World.TENANT, "t7");
    Lately found =
        Objects.requireNonNull(reader.lately(List.of(of), world.clock.instant()).get(of));
    Counts expected = new Counts();
    for (int i = 0; i < nodes * 20; i++) {
      expected.add(counts(3));
    }
    assertThat(found.hour().counts()).isEqualTo(expected);
    assertThat(found.day().counts()).isEqualTo(expected);
  }

  @Test
  void a_window_counts_only_the_activity_within_it() {
    row(1, "2027-01-31T12:34:00Z", 1); // the current minute
    row(1, "2027-01-31T12:33:00Z", 40); // a quarter of it lies within the last 60 seconds
    row(1, "2027-01-31T11:35:00Z", 100); // the first minute of the last hour
    row(1, "2027-01-31T11:34:00Z", 1_000);
    row(60, "2027-01-31T12:00:00Z", 41);
    row(60, "2027-01-31T11:00:00Z", 1_100);
    row(60, "2027-01-30T13:00:00Z", 10_000); // the first whole hour of the day
    row(60, "2027-01-30T12:00:00Z", 7_777_777);
    row(1, "2027-01-30T12:35:00Z", 100_000); // in the part of the hour before that the day includes
    row(1, "2027-01-30T12:34:00Z", 7_777_777);

    Lately lately = lately();

    assertThat(completed(lately.now())).isEqualTo(1);
    assertThat(completed(lately.minute())).isEqualTo(11);
    assertThat(completed(lately.hour())).isEqualTo(141);
    assertThat(completed(lately.day())).isEqualTo(111_141);
    assertThat(lately.hour().from()).isEqualTo(Instant.parse("2027-01-31T11:35:00Z"));
    assertThat(lately.day().from()).isEqualTo(Instant.parse("2027-01-30T12:35:00Z"));
    assertThat(lately.minute().from()).isEqualTo(NOW.minusSeconds(60));
    assertThat(List.of(lately.now(), lately.minute(), lately.hour(), lately.day()))
        .extracting(Since::until)
        .containsOnly(NOW);
    assertThat(lately.hour().counts().late(0.5)).isEqualTo(Duration.ofMillis(1));
  }

  @Test
  void many_ranges_are_summed_in_several_statements() {
    row(1, "2027-01-31T12:34:00Z", 3);
    List<Of> many = new ArrayList<>();
    for (int i = 0; i < 1_001; i++) {
      many.add(Of.type(World.TENANT, "t" + i));
    }
    many.add(Of.type(World.TENANT, "t"));

    Map<Of, Lately> found = reader.lately(many, NOW);

    assertThat(found).hasSize(1_002);
    assertThat(found.values()).extracting(each -> completed(each.hour())).contains(0L, 3L);
    assertThat(completed(Objects.requireNonNull(found.get(many.getLast())).hour())).isEqualTo(3);
    assertThat(reader.hours(List.of(), NOW)).isEmpty();
  }

  @Test
  void each_step_of_a_series_is_the_sum_of_its_minutes() {
    row(1, "2027-01-31T12:34:00Z", 1);
    row(1, "2027-01-31T12:30:00Z", 2);
    row(1, "2027-01-31T12:29:00Z", 4);
    row(60, "2027-01-31T12:00:00Z", 100);

    List<Since> series =
        reader.series(
            World.TENANT,
            List.of("t"),
            Instant.parse("2027-01-31T12:20:00Z"),
            NOW,
            Duration.ofMinutes(5));

    assertThat(series).extracting(ActivityTest::completed).containsExactly(0L, 4L, 3L);
    assertThat(series.getLast().from()).isEqualTo(Instant.parse("2027-01-31T12:30:00Z"));
    assertThat(reader.series(new TenantId(2), List.of("t"), NOW, NOW, Duration.ofMinutes(1)))
        .as("the series of another tenant")
        .extracting(ActivityTest::completed)
        .containsExactly(0L);
  }

  @Test
  void minutes_are_deleted_after_a_day_and_hours_after_a_week() {
    world.sql(
        """
        INSERT INTO carillon.activity (span, tenant, type, at, late)
        SELECT span, 1, 't', now() - age, '{0}'
        FROM (VALUES (1), (60)) AS s (span)
        CROSS JOIN (VALUES (interval '1 hour'), ('26 hours'), ('7 days'), ('9 days')) AS a (age)
        """);

    assertThat(activity.forgetOld(2)).isEqualTo(2);
    assertThat(activity.forgetOld(2)).isEqualTo(1);
    assertThat(activity.forgetOld(2)).isZero();
    assertThat(
            world.value("SELECT string_agg(span::text, ' ' ORDER BY span) FROM carillon.activity"))
        .isEqualTo("1 60 60 60");
  }
}
