package carillon.chaos.rules;

import carillon.chaos.history.Event;
import carillon.chaos.history.Row;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A finished task stays finished, a cancelled task does not start, and reads never go back in time.
 */
final class States {

  private static final Set<String> AFTER_CANCEL = Set.of("CANCELLED", "COMPLETED", "DEAD");

  private States() {}

  static List<Violation> terminalChange(Facts facts) {
    List<Violation> found = new ArrayList<>();
    facts
        .changes()
        .forEach(
            (task, changes) -> {
              for (Row change : changes) {
                String from = change.text("from_state");
                String to = change.text("to_state");
                if (from != null && Loss.ENDED.contains(from) && !isAllowed(facts, task, change)) {
                  found.add(Violation.of(Rule.R9, task, "was %s and became %s", from, to));
                }
              }
            });
    readsByTask(facts).forEach((task, reads) -> changedBetween(facts, task, reads, found));
    return found;
  }

  /** A finished task may change only by the redrive or edit of a dead one. */
  private static boolean isAllowed(Facts facts, String task, Row change) {
    String from = change.need("from_state");
    String to = change.text("to_state");
    if (from.equals(to) && !change.need("from_version").equals(change.text("to_version"))) {
      return from.equals("DEAD"); // edited
    }
    return from.equals(to)
        || (from.equals("DEAD")
            && "PENDING".equals(to)
            && facts.mayBeRedriven(task, Facts.at(change), Facts.at(change)));
  }

  private static Map<String, List<Op>> readsByTask(Facts facts) {
    Map<String, List<Op>> reads = new HashMap<>();
    for (Op get : facts.ops("get")) {
      if (get.isOk() && get.text("state") != null) {
        reads.computeIfAbsent(get.need("id"), _ -> new ArrayList<>()).add(get);
      }
    }
    return reads;
  }

  private static void changedBetween(
      Facts facts, String task, List<Op> reads, List<Violation> found) {
    reads.sort(Comparator.comparingLong(Op::ended));
    Op ended = null;
    for (Op read : reads) {
      if (ended != null
          && read.began() > ended.ended()
          && !read.need("state").equals(ended.need("state"))
          && !facts.mayBeRedriven(task, ended.began(), read.ended())) {
        found.add(
            Violation.of(
                Rule.R9,
                task,
                "was read as %s, and later as %s",
                ended.need("state"),
                read.need("state")));
      }
      if (Loss.ENDED.contains(read.need("state"))) {
        ended = read;
      }
    }
  }

  static List<Violation> cancel(Facts facts) {
    List<Violation> found = new ArrayList<>();
    for (Op cancel : facts.ops("cancel")) {
      if (cancel.isOk()) {
        startedAfter(facts, cancel, found);
        endedOtherwise(facts, cancel, found);
      }
    }
    facts
        .changes()
        .forEach(
            (task, changes) -> {
              for (Row change : changes) {
                if ("RUNNING".equals(change.text("from_state"))
                    && "CANCELLED".equals(change.text("to_state"))
                    && !change.fields().is("cancel")) {
                  found.add(
                      Violation.of(
                          Rule.R12,
                          task,
                          "became CANCELLED at once, although fence %s was running",
                          change.text("from_fence")));
                }
              }
            });
    CancelledSuspect.in(facts).forEach(each -> deliveredAfterCancel(facts, each, found));
    return found;
  }

  /** A suspect that was cancelled before its node started it is not delivered. */
  private static void deliveredAfterCancel(
      Facts facts, CancelledSuspect held, List<Violation> found) {
    for (Event call : facts.calls(held.task())) {
      if (call.wall() >= held.marked() && call.number("fence") == held.fence()) {
        found.add(
            Violation.of(
                Rule.R12,
                held.task(),
                "delivered with fence %d, %d ms after its cancel got status 202, although its node"
                    + " still held it back",
                held.fence(),
                (call.wall() - held.answered()) / 1000));
      }
    }
  }

  /** No claim may follow a successful cancel, whatever its status. */
  private static void startedAfter(Facts facts, Op cancel, List<Violation> found) {
    String task = cancel.need("id");
    for (Row change : facts.changes(task)) {
      boolean isClaim =
          "RUNNING".equals(change.text("to_state")) && !"RUNNING".equals(change.text("from_state"));
      long at = Facts.at(change);
      if (isClaim && at > cancel.ended() && !facts.mayBeRedriven(task, cancel.began(), at)) {
        found.add(
            Violation.of(
                Rule.R12,
                task,
                "claimed with fence %s, %d ms after its cancel got status %s",
                change.text("to_fence"),
                (at - cancel.ended()) / 1000,
                cancel.text("status")));
      }
    }
  }

  /** A task that was running when it was cancelled ends CANCELLED or with the attempt's result. */
  private static void endedOtherwise(Facts facts, Op cancel, List<Violation> found) {
    String task = cancel.need("id");
    if (cancel.number("status", 0) != 202) {
      return;
    }
    for (Row change : facts.changes(task)) {
      long at = Facts.at(change);
      String to = change.text("to_state");
      boolean isEnd = "RUNNING".equals(change.text("from_state")) && !"RUNNING".equals(to);
      if (isEnd
          && at > cancel.ended()
          && (to == null || !AFTER_CANCEL.contains(to))
          && !facts.mayBeRedriven(task, cancel.began(), at)) {
        found.add(
            Violation.of(
                Rule.R12,
                task,
                "became %s, %d ms after its cancel got status 202",
                to,
                (at - cancel.ended()) / 1000));
      }
    }
  }

  /** A later read never returns a lower version than an earlier one. */
  static List<Violation> reads(Facts facts) {
    List<Violation> found = new ArrayList<>();
    Map<String, List<Op>> perTask = new HashMap<>();
    for (Op get : facts.ops("get")) {
      perTask.computeIfAbsent(get.need("id"), _ -> new ArrayList<>()).add(get);
    }
    perTask.forEach(
        (task, gets) -> {
          Op submit = facts.submitOf(task);
          for (Op get : gets) {
            boolean isMissing = get.number("status", 0) == 404;
            if (isMissing && submit != null && get.began() > submit.ended()) {
              found.add(
                  Violation.of(Rule.R13, task, "not found after its submit was acknowledged"));
            }
          }
          List<Op> versions = new ArrayList<>(gets);
          versions.addAll(facts.opsOf(task, "cancel"));
          versions.addAll(facts.opsOf(task, "redrive"));
          versions.addAll(facts.opsOf(task, "edit"));
          backwards(task, versions, found);
        });
    for (Op cancel : facts.ops("cancel")) {
      if (cancel.isOk() && cancel.number("status", 0) == 200) {
        forgotten(facts, cancel, found);
      }
    }
    return found;
  }

  private static void backwards(String task, List<Op> answers, List<Violation> found) {
    List<Op> read = new ArrayList<>();
    answers.stream().filter(op -> op.isOk() && op.text("version") != null).forEach(read::add);
    List<Op> byEnd = new ArrayList<>(read);
    byEnd.sort(Comparator.comparingLong(Op::ended));
    read.sort(Comparator.comparingLong(Op::began));
    long newest = 0;
    int seen = 0;
    for (Op get : read) {
      while (seen < byEnd.size() && byEnd.get(seen).ended() < get.began()) {
        newest = Math.max(newest, byEnd.get(seen++).number("version", 0));
      }
      long version = get.number("version", 0);
      if (version < newest) {
        found.add(
            Violation.of(Rule.R13, task, "version %d was read after version %d", version, newest));
      }
    }
  }

  private static void forgotten(Facts facts, Op cancel, List<Violation> found) {
    String task = cancel.need("id");
    for (Op get : facts.opsOf(task, "get")) {
      if (get.isOk()
          && get.began() > cancel.ended()
          && get.text("state") != null
          && !get.need("state").equals("CANCELLED")
          && !facts.mayBeRedriven(task, cancel.began(), get.ended())) {
        found.add(
            Violation.of(
                Rule.R13, task, "read as %s after its cancel was acknowledged", get.need("state")));
      }
    }
  }
}
