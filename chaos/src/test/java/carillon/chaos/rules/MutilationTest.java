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

/** Takes something from a clean history, or doubles or bends it, and sees who notices. */
class MutilationTest {

  private static final int SEEDS = 500;
  private static final History CLEAN = Story.clean(40).history();
  private static final List<Row> ROWS =
      Stream.of(Table.values()).flatMap(table -> CLEAN.rows(table).stream()).toList();

  private static Set<Rule> broken(List<Event> events, List<Row> rows) {
    Verdict verdict = Verdict.on(History.of(events, rows));
    Set<Rule> broken = EnumSet.noneOf(Rule.class);
    verdict.failures().forEach(violation -> broken.add(violation.rule()));
    return broken;
  }

  /**
   * The rules one of which must notice that a row is gone; empty where the others prove that all is
   * well without it.
   */
  private static Set<Rule> missing(Row row) {
    return switch (row.table()) {
      case TASK -> row.text("n") == null ? Set.of() : Set.of(Rule.R1);
      case ATTEMPT -> isDead(row) ? Set.of(Rule.R17) : Set.of(); // of others nothing is promised
      case DEAD_LETTER -> Set.of(Rule.R17);
      case FIRE, SCHEDULE -> Set.of(Rule.R10);
      case AUDIT -> Set.of(Rule.R16);
      // One look less of the witness is no proof of anything, but where it says what was made,
      // accepted, redriven.
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
  void a_row_that_is_gone_is_missed() {
    for (int seed = 0; seed < SEEDS; seed++) {
      int gone = new SplittableRandom(seed).nextInt(ROWS.size());
      List<Row> rows = new ArrayList<>(ROWS);
      Set<Rule> expected = missing(rows.remove(gone));

      Set<Rule> broken = broken(CLEAN.events(), rows);

      if (!expected.isEmpty()) {
        assertThat(broken).as("without %s", ROWS.get(gone)).containsAnyElementsOf(expected);
      }
    }
  }

  /** Null where twice is as good as once. */
  private static @Nullable Rule doubled(Row row) {
    return switch (row.table()) {
      case FIRE -> Rule.R10;
      case AUDIT -> Rule.R16;
      case TASK_LOG -> "RUNNING".equals(row.text("to_state")) ? Rule.R4 : null;
      default -> null;
    };
  }

  @Test
  void a_row_that_is_there_twice_is_noticed() {
    for (int seed = 0; seed < SEEDS; seed++) {
      Row row = ROWS.get(new SplittableRandom(seed).nextInt(ROWS.size()));
      Rule expected = doubled(row);
      if (expected != null) {
        List<Row> rows = new ArrayList<>(ROWS);
        rows.add(row);

        assertThat(broken(CLEAN.events(), rows)).as("two of %s", row).contains(expected);
      }
    }
  }

  /**
   * The rules one of which must notice that an event was never seen.
   *
   * <p>None for the invocation of what is only read, for reads themselves, for options and phases,
   * and for what a receiver did beside accepting: it may have been on its way.
   */
  private static Set<Rule> unseen(Event event) {
    return switch (event.what()) {
      case "submit" -> event.kind() == Kind.INVOKE ? Set.of(Rule.R2, Rule.R15) : Set.of();
      case "recv-end" -> event.need("status").equals("200") ? Set.of(Rule.R1B) : Set.of();
      case "work-report" -> event.kind() == Kind.INVOKE ? Set.of(Rule.R1B) : Set.of();
      case "cancel" -> event.kind() == Kind.INVOKE ? Set.of(Rule.R16) : Set.of();
      case "redrive" -> event.kind() == Kind.INVOKE ? Set.of(Rule.R9, Rule.R17) : Set.of();
      default -> Set.of();
    };
  }

  @Test
  void an_event_that_nobody_saw_is_missed() {
    for (int seed = 0; seed < SEEDS; seed++) {
      int gone = new SplittableRandom(seed).nextInt(CLEAN.events().size());
      List<Event> events = new ArrayList<>(CLEAN.events());
      Set<Rule> expected = unseen(events.remove(gone));

      Set<Rule> broken = broken(events, ROWS);

      if (!expected.isEmpty()) {
        assertThat(broken)
            .as("without %s", CLEAN.events().get(gone))
            .containsAnyElementsOf(expected);
      }
    }
  }

  /** A field that is bent, and who must notice; null where nobody can. */
  private record Bent(Event event, @Nullable Rule noticed) {}

  private static Bent bend(Event event) {
    return switch (event.what()) {
      case "submit" ->
          event.kind() == Kind.OK
              ? new Bent(with(event, "id", "another"), Rule.R1)
              : new Bent(with(event, "payloadHash", "another"), Rule.R5);
      case "recv-start" -> new Bent(with(event, "payloadHash", "another"), Rule.R5);
      case "foreign-get" ->
          event.kind() == Kind.OK
              ? new Bent(with(event, "status", 200), Rule.R14)
              : new Bent(event, null);
      case "work-claim" ->
          event.kind() == Kind.INVOKE
              ? new Bent(with(event, "max", 0), Rule.R8B)
              : new Bent(event, null);
      case "work-report" ->
          event.kind() == Kind.INVOKE
              ? new Bent(with(event, "fence", 7), Rule.R6)
              : new Bent(event, null);
      case "schedule-put" ->
          event.kind() == Kind.INVOKE
              ? new Bent(with(event, "every", 3), Rule.R10)
              : new Bent(event, null);
      default -> new Bent(event, null);
    };
  }

  private static Event with(Event e, String name, Object value) {
    Fields fields = e.fields().and(name, value);
    return new Event(e.seq(), e.t(), e.wall(), e.op(), e.kind(), e.what(), fields);
  }

  @Test
  void an_event_that_is_bent_is_noticed() {
    for (int seed = 0; seed < SEEDS; seed++) {
      int chosen = new SplittableRandom(seed).nextInt(CLEAN.events().size());
      Bent bent = bend(CLEAN.events().get(chosen));
      // What discards or is cancelled unsent is never compared with what was submitted.
      if (bent.noticed() != null && !isUnsent(bent)) {
        List<Event> events = new ArrayList<>(CLEAN.events());
        events.set(chosen, bent.event());

        assertThat(broken(events, ROWS)).as("%s", bent.event()).contains(bent.noticed());
      }
    }
  }

  private static boolean isUnsent(Bent bent) {
    Event event = bent.event();
    return event.is(Kind.INVOKE, "submit")
        && CLEAN.events().stream()
            .noneMatch(
                other ->
                    (other.is("recv-start") && other.need("n").equals(event.need("n")))
                        || other.fields().list("tasks").stream()
                            .anyMatch(task -> event.need("n").equals(task.text("n"))));
  }
}
