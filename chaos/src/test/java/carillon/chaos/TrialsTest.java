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
  void the_unmodified_program_does_not_pass_without_exposure(Mutant.Scenario scenario) {
    Trial trial = Trials.evaluate(null, scenario, History.of(List.of(), List.of()));

    assertThat(trial.isPassed()).isFalse();
    assertThat(trial.isFailed()).isFalse();
    assertThat(trial.problem()).contains("which proves nothing");
  }

  @Test
  void an_unfinished_trial_does_not_pass() {
    Trial trial = Trial.unfinished(null, Mutant.Scenario.NAMES);

    assertThat(trial.isPassed()).isFalse();
    assertThat(trial.problem()).isEqualTo("did not finish");
  }
}
