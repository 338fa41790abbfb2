package carillon.chaos.rules;

import carillon.chaos.history.Event;
import carillon.chaos.history.History;
import carillon.chaos.history.Kind;
import carillon.chaos.history.Row;
import carillon.chaos.history.Table;
import java.util.List;
import java.util.function.Function;

/** A rule that a history must not break. The title is printed in the report. */
public enum Rule {
  R1("lost task: an acknowledged task is missing, or ended without a recorded change", Loss::lost),
  R1B("lost effect: a task is COMPLETED, but no receiver or worker accepted it", Loss::effectLost),
  R2("unknown task: a task was delivered that nobody submitted", Loss::unexpected),
  R3("duplicate task: one idempotency key created two tasks", Loss::duplicateSubmit),
  R3B(
      "duplicate delivery: a task was delivered again after success, and no fault explains it",
      Duplicates::unexplained),
  R4("double claim: two holders had the same task at the same time", Claiming::doubleClaim),
  R5(
      "payload: a payload arrived changed, without its last edit, or with an invalid signature",
      Payloads::payload),
  R6(
      "stale write: a holder wrote after it lost its claim, or a version or fence decreased",
      Claiming::zombie),
  R7(
      "attempts: a task had more attempts than allowed, or one that was not counted",
      Claiming::overrun),
  R8("early start: an attempt started before it was due", Timing::early),
  R8B("over-claim: a claim returned more tasks than requested", Claiming::overClaim),
  R9("final state: a task changed after it had ended", States::terminalChange),
  R10(
      "schedules: a nominal time has no fire or two, or a fire has no nominal time",
      NominalTimes::cron),
  R11(
      "stale leader: a node wrote in a term that it did not lead, or a term had two leaders",
      LeadershipRules::stale),
  R12(
      "cancel: an attempt started after an acknowledged cancel, or the task entered a wrong state",
      States::cancel),
  R13("stale read: a response showed an older version than an earlier response", States::reads),
  R14("isolation: a tenant received data of another tenant", Isolation::foreign),
  R15("task count: tasks in the database do not match the submits", Reconciliation::conservation),
  R16("audit: actions and audit records do not match", Reconciliation::audit),
  R17(
      "dead letters: dead tasks do not match dead letters, attempts or redrives",
      Reconciliation::deadLetters),
  R18(
      "concurrency: two tasks with the same concurrency key ran at the same time",
      Claiming::limits),
  R19(
      "liveness: work stalled, a task never ended, or a node exited by itself or hung",
      Liveness::liveness),
  R20(
      "resources: a node uses over 20 % more threads, files or connections than after warm-up",
      Timing::resources),
  R21(
      "leaks: a log contains a payload or secret, or a response contains a stack trace",
      Isolation::hygiene),
  R22(
      "egress: a node connected to a forbidden address, or accepted a task for one",
      Isolation::egress),
  R23(
      "poison: a task survived too many crashes of its nodes, or an innocent task became DEAD",
      PoisonTasks::poison),
  R24("deadlock: the reaper or a claim row took part in a deadlock", Deadlocks::ofClaims),
  R25(
      "queue: a task that has not ended is not in exactly one of the queue and the claims, or its"
          + " row in the queue does not agree with it",
      Placement::misplaced);

  private final String title;

  @SuppressWarnings("ImmutableEnumChecker") // references to methods, which have no state
  private final Function<Facts, List<Violation>> check;

  Rule(String title, Function<Facts, List<Violation>> check) {
    this.title = title;
    this.check = check;
  }

  public String title() {
    return title;
  }

  /** Whether a finding is only a warning. */
  public boolean isWarning() {
    return this == R20;
  }

  /**
   * Whether only trials of mutants test the rule: only they have tasks that crash nodes. Each of
   * those trials requires enough crashes.
   */
  public boolean isOnlyForTrials() {
    return this == R23;
  }

  public List<Violation> check(Facts facts) {
    return check.apply(facts);
  }

  /** Whether the history contains anything that this rule can judge. */
  public boolean isTried(History history) {
    return switch (this) {
      case R1, R3, R15 -> has(history, Kind.OK, "submit");
      case R1B, R6, R7, R9 -> !history.rows(Table.TASK).isEmpty();
      case R25 -> has(history, "misplaced-read");
      case R2, R5, R8 -> has(history, "recv-start") || has(history, Kind.OK, "work-claim");
      case R3B -> has(history, "recv-start");
      case R4 -> !history.rows(Table.TASK_LOG).isEmpty();
      case R8B -> has(history, Kind.OK, "work-claim");
      case R10 -> has(history, Kind.OK, "schedule-put");
      case R11 -> !history.rows(Table.LEADER_LOG).isEmpty();
      case R12 -> has(history, Kind.OK, "cancel");
      case R13 -> has(history, Kind.OK, "get");
      case R14 -> has(history, Kind.OK, "foreign-get") || has(history, "recv-start");
      case R16 -> has(history, Kind.OK, "cancel") || has(history, Kind.OK, "redrive");
      case R17 -> history.rows(Table.TASK_LOG).stream().anyMatch(r -> is(r, "to_state", "DEAD"));
      case R18 ->
          history.rows(Table.TASK).stream().anyMatch(r -> r.text("concurrency_key") != null);
      case R19 -> has(history, "phase");
      case R20 -> history.events().stream().anyMatch(e -> e.is("resources") && isAtEnd(e));
      case R21 -> !history.logs().isEmpty();
      case R22 -> has(history, "dial") || has(history, "egress");
      case R23 -> has(history, "poison-kill");
      case R24 -> Deadlocks.isTried(history);
    };
  }

  private static boolean has(History history, String event) {
    return has(history, Kind.EVENT, event);
  }

  private static boolean has(History history, Kind kind, String what) {
    return history.events().stream().anyMatch(event -> event.is(kind, what));
  }

  private static boolean is(Row row, String name, String value) {
    return value.equals(row.text(name));
  }

  private static boolean isAtEnd(Event resources) {
    return "check".equals(resources.text("phase"));
  }

  /** The name as printed: R1b. */
  @Override
  public String toString() {
    return name().replace('B', 'b');
  }
}
