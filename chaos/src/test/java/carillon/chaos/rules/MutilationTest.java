package carillon.chaos.rules;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.chaos.history.Event;
import carillon.chaos.history.Fields;
import carillon.chaos.history.History;
import carillon.chaos.history.Kind;
import carillon.chaos.history.Row;
import carillon.chaos.history.Table;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Removes, duplicates or alters parts of a clean history, and checks which rules notice. */
class MutilationTest {

  private static final int SEEDS = 500;
  private static final History CLEAN = Story.clean(40).history();
  private static final List<Row> ROWS =
      Stream.of(Table.values()).flatMap(table -> CLEAN.rows(table).stream()).toList();

  private static Set<Rule> broken(List<Event> events, List<Row> rows) {
    Findings findings = Findings.of(History.of(events, rows));
    Set<Rule> broken = EnumSet.noneOf(Rule.class);
    findings.failures().forEach(violation -> broken.add(violation.rule()));
    return broken;
  }

  /**
   * At least one of these rules must notice that the row is missing; empty if the rest of the
   * history is valid without it.
   */
  private static Set<Rule> missing(Row row) {
    return switch (row.table()) {
      case TASK -> row.text("n") == null ? Set.of() : Set.of(Rule.R1);
      case ATTEMPT ->
          isDead(row) ? Set.of(Rule.R17) : Set.of(); // attempts of other tasks may be missing
      case DEAD_LETTER -> Set.of(Rule.R17);
      case FIRE, SCHEDULE -> Set.of(Rule.R10);
      case AUDIT -> Set.of(Rule.R16);
      // A missing change proves nothing, unless it is the insert, an accepted report or a redrive
      // of a task.
      case TASK_LOG ->
          row.text("from_state") == null
              ? Set.of(Rule.R15)
              : "DEAD".equals(row.text("from_state"))
                  ? Set.of(Rule.R17)
                  : isReported(row) ? Set.of(Rule.R6) : Set.of();
      default -> Set.of();
    };
  }

  private static boolean isDead(Row attempt) {
    return CLEAN.rows(Table.TASK).stream()
        .anyMatch(
            task ->
                task.need("id").equals(attempt.need("task")) && task.need("state").equals("DEAD"));
  }

  private static boolean isReported(Row change) {
    return "COMPLETED".equals(change.text("to_state"))
        && CLEAN.events().stream()
            .anyMatch(
                event ->
                    event.is(Kind.INVOKE, "work-report")
                        && event.need("id").equals(change.need("task")));
  }

  @Test
  void a_missing_row_is_noticed() {
    for (int seed = 0; seed < SEEDS; seed++) {
      int index = new SplittableRandom(seed).nextInt(ROWS.size());
      List<Row> rows = new ArrayList<>(ROWS);
      Set<Rule> expected = missing(rows.remove(index));

      Set<Rule> broken = broken(CLEAN.events(), rows);

      if (!expected.isEmpty()) {
        assertThat(broken).as("without %s", ROWS.get(index)).containsAnyElementsOf(expected);
      }
    }
  }

  /** Null if a duplicate of the row is harmless. */
  private static @Nullable Rule noticedTwice(Row row) {
    return switch (row.table()) {
      case FIRE -> Rule.R10;
      case AUDIT -> Rule.R16;
      case TASK_LOG -> "RUNNING".equals(row.text("to_state")) ? Rule.R4 : null;
      default -> null;
    };
  }

  @Test
  void a_duplicate_row_is_noticed() {
    for (int seed = 0; seed < SEEDS; seed++) {
      Row row = ROWS.get(new SplittableRandom(seed).nextInt(ROWS.size()));
      Rule expected = noticedTwice(row);
      if (expected != null) {
        List<Row> rows = new ArrayList<>(ROWS);
        rows.add(row);

        assertThat(broken(CLEAN.events(), rows)).as("two of %s", row).contains(expected);
      }
    }
  }

  /**
   * At least one of these rules must notice that the event is missing.
   *
   * <p>Empty for invocations of reads, reads, options and phases, and for events of the receiver
   * other than an accepted delivery, which may have been in progress.
   */
  private static Set<Rule> missing(Event event) {
    return switch (event.what()) {
      case "submit" -> event.kind() == Kind.INVOKE ? Set.of(Rule.R2, Rule.R15) : Set.of();
      case "recv-end" -> event.need("status").equals("200") ? Set.of(Rule.R1B) : Set.of();
      case "work-report" -> event.kind() == Kind.INVOKE ? Set.of(Rule.R1B) : Set.of();
      case "cancel" -> event.kind() == Kind.INVOKE ? Set.of(Rule.R16) : Set.of();
      case "redrive" -> event.kind() == Kind.INVOKE ? Set.of(Rule.R9, Rule.R17) : Set.of();
      case "edit" -> event.kind() == Kind.INVOKE ? Set.of(Rule.R5, Rule.R16) : Set.of();
      default -> Set.of();
    };
  }

  @Test
  void a_missing_event_is_noticed() {
    for (int seed = 0; seed < SEEDS; seed++) {
      int index = new SplittableRandom(seed).nextInt(CLEAN.events().size());
      List<Event> events = new ArrayList<>(CLEAN.events());
      Set<Rule> expected = missing(events.remove(index));

      Set<Rule> broken = broken(events, ROWS);

      if (!expected.isEmpty()) {
        assertThat(broken)
            .as("without %s", CLEAN.events().get(index))
            .containsAnyElementsOf(expected);
      }
    }
  }

  /** An altered event, and the rule that must notice; null if no rule can. */
  private record Altered(Event event, @Nullable Rule noticedBy) {}

  private static Altered alter(Event event) {
    return switch (event.what()) {
      case "submit" ->
          event.kind() == Kind.OK
              ? new Altered(with(event, "id", "another"), Rule.R1)
              : new Altered(with(event, "payloadHash", "another"), Rule.R5);
      case "recv-start" -> new Altered(with(event, "payloadHash", "another"), Rule.R5);
      case "edit" ->
          event.kind() == Kind.INVOKE
              ? new Altered(with(event, "payloadHash", "another"), Rule.R5)
              : new Altered(event, null);
      case "foreign-get" ->
          event.kind() == Kind.OK
              ? new Altered(with(event, "status", 200), Rule.R14)
              : new Altered(event, null);
      case "work-claim" ->
          event.kind() == Kind.INVOKE
              ? new Altered(with(event, "max", 0), Rule.R8B)
              : new Altered(event, null);
      case "work-report" ->
          event.kind() == Kind.INVOKE
              ? new Altered(with(event, "fence", 7), Rule.R6)
              : new Altered(event, null);
      case "schedule-put" ->
          event.kind() == Kind.INVOKE
              ? new Altered(with(event, "every", 3), Rule.R10)
              : new Altered(event, null);
      default -> new Altered(event, null);
    };
  }

  private static Event with(Event e, String name, Object value) {
    Fields fields = e.fields().and(name, value);
    return new Event(e.seq(), e.t(), e.wall(), e.op(), e.kind(), e.what(), fields);
  }

  @Test
  void an_altered_event_is_noticed() {
    for (int seed = 0; seed < SEEDS; seed++) {
      int chosen = new SplittableRandom(seed).nextInt(CLEAN.events().size());
      Altered altered = alter(CLEAN.events().get(chosen));
      // The payload of a task that was discarded, or cancelled or edited before it was sent, is
      // never compared.
      if (altered.noticedBy() != null && !isUnsent(altered)) {
        List<Event> events = new ArrayList<>(CLEAN.events());
        events.set(chosen, altered.event());

        assertThat(broken(events, ROWS)).as("%s", altered.event()).contains(altered.noticedBy());
      }
    }
  }

  private static boolean isUnsent(Altered altered) {
    Event event = altered.event();
    return event.is(Kind.INVOKE, "submit")
        && CLEAN.events().stream().noneMatch(other -> isSentAs(other, event));
  }

  /** Whether the event is a delivery or a claim of this submit with its payload. */
  private static boolean isSentAs(Event event, Event submit) {
    String n = submit.need("n");
    String hash = submitted(n);
    return (event.is("recv-start")
            && event.need("n").equals(n)
            && event.need("payloadHash").equals(hash))
        || event.fields().list("tasks").stream().anyMatch(task -> n.equals(task.text("n")));
  }

  private static String submitted(String n) {
    return CLEAN.events().stream()
        .filter(event -> event.is(Kind.INVOKE, "submit") && event.need("n").equals(n))
        .findFirst()
        .orElseThrow()
        .need("payloadHash");
  }
}
