package carillon.chaos.report;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.chaos.history.Event;
import carillon.chaos.history.Fields;
import carillon.chaos.history.History;
import carillon.chaos.history.Kind;
import carillon.chaos.history.Row;
import carillon.chaos.history.Table;
import carillon.chaos.mutants.Mutant;
import carillon.chaos.mutants.Mutants;
import carillon.chaos.rules.Rule;
import carillon.chaos.rules.Violation;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.xml.sax.SAXException;

class ReportTest {

  @TempDir Path directory;

  private static History history(boolean isLost) {
    List<Event> events = new ArrayList<>();
    Fields submit =
        Fields.of("tenant", "a")
            .and("key", "k")
            .and("n", 1)
            .and("target", "discard")
            .and("dueAt", 5);
    events.add(event(1, null, Kind.EVENT, "phase", Fields.of("name", "safety")));
    Fields fault = Fields.of("fault", "kill9 <&>").and("id", 1).and("node", "node-1");
    events.add(event(2, null, Kind.EVENT, "fault-start", fault));
    events.add(event(3, 1L, Kind.INVOKE, "submit", submit));
    events.add(event(4, 1L, Kind.OK, "submit", Fields.of("id", "task-1").and("status", 202)));
    events.add(event(5, null, Kind.EVENT, "fault-end", fault));
    Row row =
        new Row(
            Table.TASK,
            Fields.of("id", "task-1")
                .and("tenant", 1)
                .and("state", "COMPLETED")
                .and("fence", 1)
                .and("n", 1));
    Row tenant = new Row(Table.TENANT, Fields.of("id", 1).and("name", "a"));
    return History.of(events, isLost ? List.of(tenant) : List.of(tenant, row));
  }

  private static Event event(long seq, @Nullable Long op, Kind kind, String what, Fields fields) {
    return new Event(seq, seq * 1_000_000_000L, seq * 1_000_000, op, kind, what, fields);
  }

  private static Report report(boolean isLost, List<Trial> trials) {
    History history = history(isLost);
    return new Report(
        Map.of("commit", "abc"),
        List.of(Seed.of(7, history)),
        Exposure.of(List.of(history)),
        trials,
        List.of(),
        Duration.ofSeconds(9));
  }

  @Test
  void a_clean_run_with_too_little_exposure_is_inconclusive() {
    Report report = report(false, List.of());

    assertThat(report.verdict()).isEqualTo(Report.Verdict.INCONCLUSIVE);
    assertThat(report.verdict().status()).isEqualTo(3);
    assertThat(report.markdown())
        .contains("**INCONCLUSIVE**", "| acknowledged submits", "**too few**", "timeline-7.svg");
  }

  @Test
  void an_untested_rule_is_named_as_a_problem() {
    assertThat(report(false, List.of()).markdown())
        .contains("- seed 7: nothing tested R22, so it proves nothing\n")
        .doesNotContain("nothing tested R1,");
  }

  @Test
  void a_broken_rule_is_shown_with_everything_known_about_its_task() throws IOException {
    Report report = report(true, List.of());
    report.write(directory);

    assertThat(report.verdict()).isEqualTo(Report.Verdict.BROKEN);
    assertThat(directory.resolve("latest.md"))
        .content()
        .contains("seed 7: R1 task-1: acknowledged, but missing from the database");
    assertThat(directory.resolve("latest.json")).content().contains("\"R1\" : 2");
    assertThat(directory.resolve("violations.md"))
        .content()
        .contains("## task-1", "submit invoke", "submit ok", "fault-start", "\"status\":202");
  }

  @Test
  void a_surviving_mutant_fails_the_run() {
    Mutant mutant = Mutants.named("M1").orElseThrow();
    Violation other = new Violation(Rule.R1, null, "x");
    Trial survivor = new Trial(mutant, mutant.scenario(), List.of(other), null, "listing of M1");

    Report report = report(false, List.of(survivor));

    assertThat(survivor.isPassed()).isFalse();
    assertThat(report.verdict()).isEqualTo(Report.Verdict.BROKEN);
    assertThat(report.markdown()).contains("**no**");
  }

  @Test
  void a_mutant_must_break_its_rule_and_the_unmodified_program_none() {
    Mutant mutant = Mutants.named("M1").orElseThrow();
    Violation own = new Violation(mutant.caughtBy(), null, "x");

    assertThat(new Trial(mutant, mutant.scenario(), List.of(own), null, "").isPassed()).isTrue();
    assertThat(new Trial(null, mutant.scenario(), List.of(own), null, "").isPassed()).isFalse();
    assertThat(new Trial(null, mutant.scenario(), List.of(), "no place", "").isPassed()).isFalse();
  }

  @Test
  void a_report_without_mutants_states_so() {
    assertThat(report(false, List.of()).markdown()).contains("no mutants were tried");
  }

  @Test
  void an_unfinished_trial_is_inconclusive() {
    Mutant mutant = Mutants.named("M1").orElseThrow();
    Trial trial = new Trial(mutant, mutant.scenario(), List.of(), "did not finish", "");

    assertThat(trial.isFailed()).isFalse();
    assertThat(report(false, List.of(trial)).verdict()).isEqualTo(Report.Verdict.INCONCLUSIVE);
    assertThat(report(false, List.of(trial)).markdown()).contains("- M1: did not finish");
  }

  @Test
  void a_mutant_may_require_a_certain_violation() {
    Mutant mutant = Mutants.named("M8").orElseThrow();

    assertThat(mutant.isCaughtBy(new Violation(Rule.R8, null, "claimed before it was ready")))
        .isFalse();
    assertThat(mutant.isCaughtBy(new Violation(Rule.R8, null, "delivered 9 ms before it was due")))
        .isTrue();
  }

  @Test
  void a_report_replaces_old_ones_and_contains_no_paths_of_the_machine() throws IOException {
    Files.writeString(directory.resolve("latest.md"), "old");
    Files.writeString(directory.resolve("timeline-9.svg"), "old");
    Report.clear(directory);
    assertThat(directory).isEmptyDirectory();

    String path = Path.of("").toAbsolutePath() + "/server/x.jar";
    Report report =
        new Report(
            Map.of(),
            List.of(),
            Exposure.of(List.of()),
            List.of(),
            List.of("seed 7: there is no " + path),
            Duration.ZERO);
    report.write(directory);

    assertThat(report.verdict()).isEqualTo(Report.Verdict.INCONCLUSIVE);
    assertThat(directory.resolve("latest.md"))
        .content()
        .contains("seed 7: there is no DIR")
        .doesNotContain(path);
    assertThat(directory.resolve("latest.json")).content().doesNotContain(path);
  }

  @Test
  void the_chart_escapes_names_of_faults()
      throws ParserConfigurationException, SAXException, IOException {
    String svg = Timeline.of(Seed.of(7, history(false)));

    var chart =
        DocumentBuilderFactory.newInstance()
            .newDocumentBuilder()
            .parse(new ByteArrayInputStream(svg.getBytes(StandardCharsets.UTF_8)));

    assertThat(chart.getDocumentElement().getTagName()).isEqualTo("svg");
    assertThat(svg).contains("kill9 &lt;&amp;>", "node-1", "safety");
  }
}
