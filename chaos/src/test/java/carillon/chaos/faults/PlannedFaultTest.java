package carillon.chaos.faults;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.chaos.load.RandomStreams;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PlannedFaultTest {

  private static final Duration LENGTH = Duration.ofSeconds(75);

  private static List<PlannedFault> plan(long seed) {
    return PlannedFault.plan(new RandomStreams(seed).of("nemesis"), LENGTH, 3);
  }

  @Test
  void a_seed_always_gives_the_same_plan() {
    assertThat(plan(7)).isEqualTo(plan(7)).isNotEqualTo(plan(8));
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 42, -1})
  void a_plan_has_many_kinds_of_faults(long seed) {
    List<PlannedFault> plan = plan(seed);

    Set<Fault> kinds = plan.stream().map(PlannedFault::fault).collect(Collectors.toSet());
    assertThat(plan).hasSizeGreaterThan(24);
    assertThat(kinds).hasSizeGreaterThan(16);
    assertThat(plan)
        .extracting(PlannedFault::at)
        .isSorted()
        .allMatch(at -> at.compareTo(LENGTH) < 0);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 42, -1})
  void faults_that_overlap_never_conflict(long seed) {
    List<PlannedFault> plan = plan(seed);

    for (PlannedFault one : plan) {
      for (PlannedFault other : plan) {
        boolean overlap =
            !one.equals(other)
                && one.at().compareTo(other.at().plus(other.length())) < 0
                && other.at().compareTo(one.at().plus(one.length())) < 0;
        if (overlap
            && one.fault().scope == Fault.Scope.NODE
            && other.fault().scope == Fault.Scope.NODE) {
          assertThat(one.node()).isNotEqualTo(other.node());
        }
        if (overlap && one.fault().scope == Fault.Scope.DATABASE) {
          assertThat(other.fault().scope).isNotEqualTo(Fault.Scope.DATABASE);
        }
      }
    }
  }
}
