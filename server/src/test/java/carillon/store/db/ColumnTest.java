package carillon.store.db;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.testkit.World;
import java.time.Instant;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** PostgreSQL reads the arrays that {@link Column} writes in its binary format. */
class ColumnTest {

  private static World world;

  @BeforeAll
  static void open() {
    world = World.create();
  }

  @AfterAll
  static void close() {
    world.close();
  }

  private static String read(String type, Column column) {
    return world
        .db
        .inTransaction(
            tx ->
                tx.queryOne(
                    "SELECT coalesce(array_to_string(?::" + type + "[], ' ', 'NULL'), '') AS text",
                    row -> row.getString("text"),
                    column))
        .orElseThrow();
  }

  @SafeVarargs
  private static <T> List<@Nullable T> listOf(@Nullable T... values) {
    return Arrays.asList(values);
  }

  @Test
  void numbers_booleans_texts_and_nulls_are_unchanged() {
    assertThat(read("int", Column.ints(listOf(1, null, -7), n -> n))).isEqualTo("1 NULL -7");
    assertThat(read("bigint", Column.longs(listOf(1L << 40, null), n -> n)))
        .isEqualTo("1099511627776 NULL");
    assertThat(read("smallint", Column.shorts(listOf(200, null), n -> n))).isEqualTo("200 NULL");
    assertThat(read("boolean", Column.booleans(listOf(true, null, false), value -> value)))
        .isEqualTo("t NULL f");
    assertThat(read("text", Column.texts(listOf("a\"b", null, "", "ü€😀"), text -> text)))
        .isEqualTo("a\"b NULL  ü€😀");
  }

  @Test
  void ids_dates_and_times_are_unchanged_even_before_the_year_2000() {
    UUID id = UUID.fromString("01a1df54-1c13-7e85-8485-42ad68eb579b");
    Instant now = Instant.parse("2026-11-15T12:00:00.123456Z");
    Instant old = Instant.parse("1970-01-01T00:00:00.000001Z");

    assertThat(read("uuid", Column.uuids(listOf(id, null), value -> value)))
        .isEqualTo(id + " NULL");
    assertThat(
            read("date", Column.dates(listOf(LocalDate.of(2026, 11, 15), LocalDate.EPOCH), d -> d)))
        .isEqualTo("2026-11-15 1970-01-01");
    Column times = Column.instants(listOf(now, old, null), time -> time);
    List<Boolean> isSame =
        world.db.inTransaction(
            tx ->
                tx.query(
                    "SELECT ?::timestamptz[] = ARRAY['%s', '%s', NULL]::timestamptz[] AS same"
                        .formatted(now, old),
                    row -> row.getBoolean("same"),
                    times));
    assertThat(isSame).containsExactly(true);
  }

  @Test
  void a_column_of_nulls_is_an_empty_array_that_unnest_extends() {
    Function<Object, @Nullable Integer> none = _ -> null;

    assertThat(read("int", Column.ints(List.of(1, 2), none))).isEmpty();
    assertThat(read("int", Column.ints(List.of(), none))).isEmpty();
    List<String> rows =
        world.db.inTransaction(
            tx ->
                tx.query(
                    "SELECT a, b FROM unnest(?::int[], ?::int[]) AS t (a, b)",
                    row -> row.getInt("a") + " " + Sql.integer(row, "b"),
                    Column.ints(List.of(1, 2), n -> n),
                    Column.ints(List.of(1, 2), none)));
    assertThat(rows).containsExactly("1 null", "2 null");
  }

  @Test
  void a_number_out_of_range_is_rejected() {
    assertThatThrownBy(() -> Column.shorts(List.of(70_000), n -> n))
        .isInstanceOf(ArithmeticException.class);
  }
}
