package carillon.chaos.faults;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.chaos.load.Streams;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StrikeTest {

  private static final Duration LENGTH = Duration.ofSeconds(75);

  private static List<Strike> plan(long seed) {
    return Strike.plan(new Streams(seed).of("nemesis"), LENGTH, 3);
  }

  @Test
  void a_seed_always_makes_the_same_plan() {
    assertThat(plan(7)).isEqualTo(plan(7)).isNotEqualTo(plan(8));
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 42, -1})
  void a_plan_has_faults_of_many_kinds_all_the_time(long seed) {
    List<Strike> plan = plan(seed);

    Set<Fault> kinds = plan.stream().map(Strike::fault).collect(Collectors.toSet());
    assertThat(plan).hasSizeGreaterThan(24);
    assertThat(kinds).hasSizeGreaterThan(16);
    assertThat(plan).extracting(Strike::at).isSorted().allMatch(at -> at.compareTo(LENGTH) < 0);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 42, -1})
  void no_two_faults_are_in_each_others_way(long seed) {
    List<Strike> plan = plan(seed);

    for (Strike one : plan) {
      for (Strike other : plan) {
        boolean overlap =
            !one.equals(other)
                && one.at().compareTo(other.at().plus(other.length())) < 0
                && other.at().compareTo(one.at().plus(one.length())) < 0;
        if (overlap
            && one.fault().hits == Fault.Hits.NODE
            && other.fault().hits == Fault.Hits.NODE) {
          assertThat(one.node()).isNotEqualTo(other.node());
        }
        if (overlap && one.fault().hits == Fault.Hits.DATABASE) {
          assertThat(other.fault().hits).isNotEqualTo(Fault.Hits.DATABASE);
        }
      }
    }
  }
}
