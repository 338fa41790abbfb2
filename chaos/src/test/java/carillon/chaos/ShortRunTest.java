package carillon.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.chaos.cluster.Cluster;
import carillon.chaos.cluster.Postgres;
import carillon.chaos.cluster.Program;
import carillon.chaos.cluster.Progress;
import carillon.chaos.faults.Fault;
import carillon.chaos.faults.PlannedFault;
import carillon.chaos.history.History;
import carillon.chaos.load.Load;
import carillon.chaos.report.Exposure;
import carillon.chaos.report.Exposure.Counter;
import carillon.chaos.report.HarnessProblems;
import carillon.chaos.rules.Findings;
import carillon.chaos.rules.Rule;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A short run of the whole harness with a few faults. */
class ShortRunTest {

  private static final Duration SAFETY = Duration.ofSeconds(14);

  @TempDir private Path directory;

  @Test
  void no_rule_is_broken_under_faults() throws Exception {
    ByteArrayOutputStream steps = new ByteArrayOutputStream();
    Progress progress =
        new Progress(new PrintStream(steps, true, StandardCharsets.UTF_8), false, 40);
    Cluster.Settings settings = Cluster.Settings.of(Program.built(Path.of("..").toRealPath()));
    History history;
    try (Postgres postgres = Postgres.start(directory, Path.of("target", "postgres-bin"))) {
      history =
          Run.of(
              Scenario.directed(
                  "short", 11, settings, Load.Profile.USUAL.with(80, 24), SAFETY, faults()),
              postgres,
              directory,
              progress);
    }

    Findings findings = Findings.of(history);
    Exposure exposure = Exposure.of(List.of(history));
    assertThat(findings.failures()).as("after %s", steps).isEmpty();
    assertThat(exposure.of(Counter.ACKNOWLEDGED)).isGreaterThan(250);
    assertThat(exposure.of(Counter.DELIVERIES)).isGreaterThan(250);
    // One fault may find no claim in progress to kill.
    assertThat(exposure.of(Counter.FAULTS)).isGreaterThanOrEqualTo(faults().size() - 1);
    assertThat(exposure.of(Counter.KILLS)).isGreaterThanOrEqualTo(1);
    assertThat(exposure.of(Counter.AMBIGUOUS)).isGreaterThanOrEqualTo(1);
    assertThat(exposure.of(Counter.DIALS)).isGreaterThanOrEqualTo(5);
    assertThat(exposure.of(Counter.FORBIDDEN)).isGreaterThanOrEqualTo(5);
    assertThat(findings.isTried(Rule.R22)).isTrue();
    assertThat(HarnessProblems.in(history)).isEmpty();
  }

  private static List<PlannedFault> faults() {
    return List.of(
        fault(Fault.AMBIGUOUS_COMMIT, 200, 2_500, 1),
        fault(Fault.KILL9, 500, 1_000, 0),
        fault(Fault.PAUSE_LONG, 3_000, 4_500, 2),
        fault(Fault.PG_CRASH, 5_000, 500, 0),
        fault(Fault.ONE_WAY_PARTITION, 8_000, 4_000, 1),
        fault(Fault.BACKEND_KILL_CLAIM, 8_500, 1_500, 0),
        fault(Fault.SIGTERM, 10_000, 500, 2));
  }

  private static PlannedFault fault(Fault fault, long at, long length, int node) {
    return PlannedFault.of(fault, Duration.ofMillis(at), Duration.ofMillis(length), node);
  }
}
