package carillon.chaos.rules;

import carillon.chaos.history.Event;
import carillon.chaos.history.History;
import carillon.chaos.history.Kind;
import carillon.chaos.history.Row;
import carillon.chaos.history.Table;
import java.util.List;
import java.util.function.Function;

/** One kind of violation that a history is searched for. */
public enum Rule {
  R1("lost: acknowledged, and gone or ended without a trace", Loss::lost),
  R1B("effect lost: COMPLETED, and no receiver accepted it", Loss::effectLost),
  R2("unexpected: delivered, and never submitted", Loss::unexpected),
  R3("duplicate submit: two tasks for one idempotency key", Loss::duplicateSubmit),
  R3B("unexplained duplicate: delivered again after success", Duplicates::unexplained),
  R4("double claim: two holders of one task", Claiming::doubleClaim),
  R5("payload integrity: not what was submitted, or not signed", Loss::payload),
  R6(
      "zombie: written by a holder that had lost its lease, or a version that fell",
      Claiming::zombie),
  R7("attempt overrun: more attempts than allowed or than recorded", Claiming::overrun),
  R8("early: before it was due", Timing::early),
  R8B("over-claim: more than was asked for", Claiming::overClaim),
  R9("terminal change: a task that had ended changed", States::terminalChange),
  R10("cron: a nominal time missed, doubled or invented", Nominal::cron),
  R11("stale leader: an older term wrote, or a term was given twice", Leading::stale),
  R12("cancel: an attempt after the cancel was acknowledged, or another end", States::cancel),
  R13("read sanity: a read that is older than what was known", States::reads),
  R14("isolation: something of another tenant", Isolation::foreign),
  R15("conservation: tasks that do not add up", Accounts::conservation),
  R16("audit: actions and their records do not add up", Accounts::audit),
  R17("dead letters: a death without its letter, or the reverse", Accounts::deadLetters),
  R18("limits: more at once than the key allows", Claiming::limits),
  R19("liveness: no progress where there should be, or no end", Liveness::liveness),
  R20("resources: more than before", Timing::resources),
  R21("hygiene: payloads or stack traces where they do not belong", Isolation::hygiene),
  R22("egress: an address that is not allowed was dialled", Isolation::egress),
  R23("poison: outlives its crashes, or another task dies of it", Poisons::poison),
  R24("deadlock: the reaper or a claim's row took part in one", Deadlocks::ofClaims);

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
   * Whether no seed tries the rule: only trials have tasks that crash nodes, and each of those
   * trials requires enough crashes.
   */
  public boolean isForTrialsOnly() {
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

  /** The name as it is shown: R1b. */
  @Override
  public String toString() {
    return name().replace('B', 'b');
  }
}
