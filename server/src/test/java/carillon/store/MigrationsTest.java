package carillon.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.testkit.Postgres;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

class MigrationsTest {

  private final Db.Address address = Postgres.emptyDatabase();
  private final Migrations migrations =
      Migrations.open(address.url(), address.user(), address.password());

  @Test
  void every_step_forward_has_a_step_back_and_both_can_be_repeated() throws SQLException {
    for (int round = 0; round < 2; round++) {
      for (int version = 1; version <= migrations.latest(); version++) {
        migrations.apply(OptionalInt.of(version));
        assertThat(migrations.current()).isEqualTo(version);
      }
      for (int version = migrations.latest() - 1; version >= 0; version--) {
        migrations.apply(OptionalInt.of(version));
        assertThat(migrations.current()).isEqualTo(version);
      }
      assertThat(objects()).as("left behind after going all the way back").isEqualTo("migration");
    }
  }

  private String objects() throws SQLException {
    try (Connection connection = Postgres.connect(address);
        Statement statement = connection.createStatement();
        var row =
            statement.executeQuery(
                """
                SELECT string_agg(name, ' ') FROM (
                    SELECT relname::text AS name FROM pg_class
                    WHERE relnamespace = 'carillon'::regnamespace AND relkind IN ('r', 'p', 'v', 'S')
                    UNION ALL
                    SELECT proname::text FROM pg_proc WHERE pronamespace = 'carillon'::regnamespace
                ) AS o
                """)) {
      row.next();
      return row.getString(1);
    }
  }

  @Test
  void a_plan_says_what_would_be_done_and_does_nothing() {
    assertThat(migrations.plan(OptionalInt.empty()))
        .hasSize(migrations.latest())
        .allMatch(step -> step.forward() && !step.sql().isBlank());
    assertThat(migrations.current()).isZero();
  }

  @Test
  void a_version_that_does_not_exist_is_refused() {
    assertThatThrownBy(() -> migrations.apply(OptionalInt.of(99)))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("there is no version 99");
  }
}
