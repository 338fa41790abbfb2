package carillon.store.db;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.testkit.World;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Several queries in one round trip. */
class QueriesTogetherTest {

  private World world;

  @BeforeEach
  void open() {
    world = World.create();
  }

  @AfterEach
  void close() {
    world.close();
  }

  private static Tx.Query numbers(List<Integer> numbers, int first, int last) {
    return Tx.Query.of(
        "/* Test.numbers */ SELECT n FROM generate_series(?::int, ?::int) AS n",
        row -> numbers.add(row.getInt("n")),
        first,
        last);
  }

  @Test
  void each_query_gets_its_own_arguments_and_rows() {
    List<Integer> first = new ArrayList<>();
    List<Integer> empty = new ArrayList<>();
    List<Integer> last = new ArrayList<>();

    for (int i = 0; i < 10; i++) { // from the fifth on, the server keeps the plans
      run(numbers(first, 1, 3), numbers(empty, 1, 0), numbers(last, 7, 8));
    }

    assertThat(first).hasSize(30).startsWith(1, 2, 3, 1);
    assertThat(empty).isEmpty();
    assertThat(last).hasSize(20).startsWith(7, 8, 7);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void a_query_that_fails_fails_all_and_leaves_the_connection_usable(int failing) {
    List<Integer> read = new ArrayList<>();
    Tx.Query wrong = Tx.Query.of("/* Test.wrong */ SELECT 1 / ?::int", row -> {}, 0);
    Tx.Query right = numbers(read, 1, 1);

    assertThatThrownBy(() -> run(failing == 0 ? wrong : right, failing == 0 ? right : wrong))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("division by zero");

    read.clear();
    run(right, right);
    assertThat(read).containsExactly(1, 1);
  }

  private void run(Tx.Query... queries) {
    world.db.inTransaction(
        tx -> {
          tx.queryTogether(queries);
          return true;
        });
  }
}
