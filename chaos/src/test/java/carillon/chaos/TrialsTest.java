package carillon.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.chaos.history.History;
import carillon.chaos.mutants.Mutant;
import carillon.chaos.report.Trial;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class TrialsTest {

  @ParameterizedTest
  @EnumSource
  void the_program_as_it_is_proves_nothing_where_nothing_happened(Mutant.Scenario scenario) {
    Trial trial = Trials.judged(null, scenario, History.of(List.of(), List.of()));

    assertThat(trial.isPassed()).isFalse();
    assertThat(trial.isFailed()).isFalse();
    assertThat(trial.trouble()).contains("which says nothing");
  }

  @Test
  void one_that_did_not_end_is_not_as_it_should_be() {
    Trial trial = Trial.notEnded(null, Mutant.Scenario.NAMES);

    assertThat(trial.isPassed()).isFalse();
    assertThat(trial.trouble()).isEqualTo("did not end");
  }
}
