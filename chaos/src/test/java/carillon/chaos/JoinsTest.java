package carillon.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class JoinsTest {

  @Test
  void shards_are_even_if_only_the_nodes_own_them_and_counts_differ_by_at_most_one() {
    assertThat(Joins.isEven(Map.of("a", 22, "b", 21, "c", 21), List.of("a", "b", "c"))).isTrue();
    assertThat(Joins.isEven(Map.of("a", 23, "b", 21, "c", 20), List.of("a", "b", "c"))).isFalse();
    assertThat(Joins.isEven(Map.of("a", 32, "b", 32), List.of("a", "b", "c"))).isFalse();
    assertThat(Joins.isEven(Map.of("a", 32, "unowned", 32), List.of("a"))).isFalse();
  }
}
