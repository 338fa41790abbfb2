package carillon.store.deadletters;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.TaskId;
import carillon.model.task.FailureKind;
import carillon.store.catalog.Audit;
import carillon.store.db.Page;
import carillon.store.deadletters.DeadLetters.Position;
import carillon.testkit.DeadTasks;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Lists, counts, groups and purges 2,000 dead letters of 20 groups. */
class DeadLettersTest {

  private static final int LETTERS = 2_000;

  private static World world;

  @BeforeAll
  static void fill() {
    world = World.create();
    DeadTasks.fill(world, LETTERS, 20);
  }

  @AfterAll
  static void close() {
    world.close();
  }

  static DeadLetterFilter filter(
      @Nullable String type,
      @Nullable FailureKind failure,
      @Nullable Integer status,
      @Nullable String error,
      @Nullable String key,
      Map<String, String> metadata,
      @Nullable String group) {
    return new DeadLetterFilter(
        type, failure, status, error, null, null, key, metadata, group, List.of());
  }

  private static DeadLetterFilter died(@Nullable Instant after, @Nullable Instant before) {
    return new DeadLetterFilter(
        null, null, null, null, after, before, null, Map.of(), null, List.of());
  }

  private static List<TaskId> list(World world, DeadLetterFilter filter, int limit) {
    List<TaskId> ids = new ArrayList<>();
    Instant last = Instant.MAX;
    Position before = null;
    do {
      Page<DeadLetters.Letter, Position> page =
          world.store.deadLetters().list(World.TENANT, filter, limit, before, false);
      for (DeadLetters.Letter letter : page.items()) {
        assertThat(letter.diedAt()).isBeforeOrEqualTo(last);
        last = letter.diedAt();
        ids.add(letter.task().id());
      }
      before = page.next();
    } while (before != null);
    assertThat(new HashSet<>(ids)).as("distinct letters").hasSize(ids.size());
    return ids;
  }

  private static long count(DeadLetterFilter filter) {
    DeadLetters.Count count =
        world.db.inTransaction(tx -> world.store.deadLetters().count(tx, World.TENANT, filter));
    assertThat(count.isAtLeast()).isFalse();
    return count.matched();
  }

  private static DeadLetters.Purged purged(long matched, long purged, boolean hasMore) {
    return new DeadLetters.Purged(new DeadLetters.Count(matched, false), purged, hasMore);
  }

  private static String groupOf(int kind) {
    return world.value(
        "SELECT fingerprint FROM carillon.dead_letter_group WHERE error LIKE '%called "
            + (char) ('A' + kind)
            + "'");
  }

  @Test
  void pages_and_counts_agree_for_every_filter() {
    Instant middle =
        Instant.parse(
            world.value(
                "SELECT to_char(died_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"
                    + " FROM carillon.dead_letter WHERE key = 'key 1000'"));
    Map<DeadLetterFilter, Integer> expected =
        Map.ofEntries(
            Map.entry(DeadLetterFilter.ALL, LETTERS),
            Map.entry(filter("t1", null, null, null, null, Map.of(), null), 500),
            Map.entry(filter("none", null, null, null, null, Map.of(), null), 0),
            Map.entry(filter(null, FailureKind.STATUS, null, null, null, Map.of(), null), 1_000),
            Map.entry(filter(null, FailureKind.TLS, null, null, null, Map.of(), null), 0),
            Map.entry(filter(null, null, 504, null, null, Map.of(), null), 100),
            Map.entry(filter("t0", FailureKind.STATUS, 504, null, null, Map.of(), null), 100),
            Map.entry(filter("t1", FailureKind.STATUS, 504, null, null, Map.of(), null), 0),
            Map.entry(filter(null, null, null, "CALLED c", null, Map.of(), null), 100),
            Map.entry(filter("t2", null, null, "order 2 ", null, Map.of(), null), 1),
            Map.entry(filter(null, null, null, "no RATE for", null, Map.of(), null), 1_000),
            Map.entry(filter("t2", null, null, "no rate for 42\"", null, Map.of(), null), 1),
            Map.entry(filter("t1", null, null, "no rate for 42\"", null, Map.of(), null), 0),
            Map.entry(filter(null, FailureKind.STATUS, null, "order 2", null, Map.of(), null), 57),
            Map.entry(filter(null, null, null, null, "key 7", Map.of(), null), 1),
            Map.entry(filter("t0", null, null, null, "key 7", Map.of(), null), 0),
            Map.entry(filter(null, null, null, null, null, Map.of("tens", "7"), null), 10),
            Map.entry(filter("t3", null, null, null, null, Map.of("tens", "7"), null), 3),
            Map.entry(filter(null, null, null, null, null, Map.of(), groupOf(3)), 100),
            Map.entry(filter("t3", null, null, null, null, Map.of(), groupOf(3)), 100),
            Map.entry(filter("t1", null, null, null, null, Map.of(), groupOf(3)), 0),
            Map.entry(died(middle, null), 1_001),
            Map.entry(died(null, middle), 999),
            Map.entry(died(middle, middle.plusMillis(10)), 10));
    expected.forEach(
        (filter, letters) -> {
          assertThat(list(world, filter, 1_000)).as("%s", filter).hasSize(letters);
          assertThat(list(world, filter, 99)).as("%s", filter).hasSize(letters);
          assertThat(count(filter)).as("%s", filter).isEqualTo(letters.longValue());
          assertThat(DeadLetterFilter.parse(filter.summary().toString(), filter.ids()))
              .isEqualTo(filter);
        });
  }

  @Test
  void a_list_of_ids_is_combined_with_the_other_filters() {
    List<TaskId> some = list(world, filter(null, null, 504, null, null, Map.of(), null), 100);
    DeadLetterFilter ids =
        new DeadLetterFilter(
            null, null, null, "order 4 ", null, null, null, Map.of(), null, some.subList(0, 100));

    assertThat(count(ids)).isEqualTo(1);
    assertThat(list(world, ids, 10)).hasSize(1);
    assertThat(DeadLetterFilter.parse(ids.summary().toString(), ids.ids())).isEqualTo(ids);
  }

  @Test
  void groups_show_a_typical_error_and_the_number_of_letters() {
    List<DeadLetterGroup> groups = new ArrayList<>();
    DeadLetterGroup.Position before = null;
    do {
      var page =
          world
              .store
              .deadLetters()
              .groups(World.TENANT, new DeadLetterGroup.Filter(null, null, null), 7, before);
      groups.addAll(page.items());
      before = page.next();
    } while (before != null);

    assertThat(groups).hasSize(20).allMatch(group -> group.letters() == 100);
    assertThat(groups).isSortedAccordingTo((a, b) -> b.lastAt().compareTo(a.lastAt()));
    assertThat(groups(new DeadLetterGroup.Filter("t0", null, null))).hasSize(5);
    assertThat(groups(new DeadLetterGroup.Filter(null, FailureKind.CONNECTION, null))).hasSize(10);
    assertThat(groups(new DeadLetterGroup.Filter(null, null, 502)))
        .singleElement()
        .satisfies(
            group -> {
              assertThat(group.type()).isEqualTo("t2");
              assertThat(group.failure()).isEqualTo(FailureKind.STATUS);
              assertThat(group.error()).contains("called C");
              assertThat(Duration.between(group.firstAt(), group.lastAt()))
                  .isEqualTo(Duration.ofMillis(20 * 99));
            });
  }

  private static List<DeadLetterGroup> groups(DeadLetterGroup.Filter filter) {
    return world.store.deadLetters().groups(World.TENANT, filter, 100, null).items();
  }

  @Test
  void a_purge_deletes_only_matching_letters_and_empty_groups_are_hidden() {
    try (World other = World.create()) {
      DeadTasks.fill(other, 12_000, 4);
      DeadLetterFilter some = filter("t1", null, null, null, null, Map.of(), null);

      DeadLetters.Purged purged =
          other.store.deadLetters().purge(World.TENANT, some, Duration.ofMinutes(1), "me");

      assertThat(purged).isEqualTo(purged(3_000, 3_000, false));
      assertThat(other.value("SELECT count(*) FROM carillon.task WHERE state = 'DEAD'"))
          .isEqualTo("9000");
      assertThat(
              other
                  .store
                  .deadLetters()
                  .groups(World.TENANT, new DeadLetterGroup.Filter(null, null, null), 10, null)
                  .items())
          .hasSize(3);

      DeadLetters.Purged all =
          other.db.inTransaction(
              tx -> other.store.deadLetters().purge(tx, World.TENANT, DeadLetterFilter.ALL, "me"));

      assertThat(all).isEqualTo(purged(9_000, 9_000, false));
      assertThat(other.value("SELECT count(*) FROM carillon.dead_letter")).isEqualTo("0");
      assertThat(
              other
                  .store
                  .audit()
                  .list(World.TENANT, new Audit.Filter("dead-letter.purge", null), 9, null)
                  .items())
          .extracting(Audit.Entry::who)
          .containsExactly("me", "me");
    }
  }

  @Test
  void a_large_purge_continues_until_its_timeout() {
    try (World other = World.create()) {
      DeadTasks.fill(other, 10_500, 1);

      DeadLetters.Purged first =
          other.store.deadLetters().purge(World.TENANT, DeadLetterFilter.ALL, Duration.ZERO, "me");

      assertThat(first).isEqualTo(purged(10_500, 10_000, true));
      assertThat(
              other
                  .store
                  .deadLetters()
                  .purge(World.TENANT, DeadLetterFilter.ALL, Duration.ofMinutes(1), "me"))
          .isEqualTo(purged(500, 500, false));
    }
  }

  @Test
  void a_count_that_must_read_every_letter_stops_at_its_timeout() {
    DeadLetterFilter scanning = filter(null, null, null, "order", null, Map.of("tens", "7"), null);
    try (World other = World.create()) {
      DeadTasks.fill(other, 5_500, 1); // more letters than one statement scans

      DeadLetters.Count some =
          other.db.inTransaction(
              tx -> LetterSearch.count(tx, World.TENANT, scanning, Duration.ZERO));
      DeadLetters.Count all =
          other.db.inTransaction(
              tx -> LetterSearch.count(tx, World.TENANT, DeadLetterFilter.ALL, Duration.ZERO));

      assertThat(some).isEqualTo(new DeadLetters.Count(10, true));
      assertThat(all).as("counted from the groups").isEqualTo(new DeadLetters.Count(5_500, false));
    }
  }

  @Test
  void old_redrives_and_empty_groups_are_deleted() {
    try (World other = World.create()) {
      DeadTasks.fill(other, 30, 3);
      other.db.inTransaction(
          tx -> other.store.redrives().start(tx, World.TENANT, DeadLetterFilter.ALL, null, "me"));
      assertThat(other.store.deadLetters().forgetEmptyGroups(10)).isZero();
      assertThat(other.store.redrives().forgetOld(10)).isZero();

      other.sql("UPDATE carillon.dead_letter_group SET last_at = now() - interval '31 days'");
      other.sql("UPDATE carillon.redrive SET ended_at = now() - interval '8 days'");

      assertThat(other.store.deadLetters().forgetEmptyGroups(2)).isEqualTo(2);
      assertThat(other.store.deadLetters().forgetEmptyGroups(2)).isEqualTo(1);
      assertThat(other.store.redrives().forgetOld(20)).isEqualTo(20);
      assertThat(other.value("SELECT count(*) FROM carillon.redrive")).isEqualTo("1");
      assertThat(other.store.redrives().forgetOld(20)).isEqualTo(10);
      assertThat(other.value("SELECT count(*) FROM carillon.redrive")).isEqualTo("0");
    }
  }
}
