package carillon.chaos.rules;

import carillon.chaos.history.Fields;
import carillon.chaos.history.Row;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Payloads arrive unchanged, with a valid signature, and as the last edit before the claim left
 * them.
 */
final class Payloads {

  private Payloads() {}

  static List<Violation> payload(Facts facts) {
    List<Violation> found = new ArrayList<>();
    facts
        .deliveries()
        .forEach(
            (task, deliveries) -> {
              for (Delivery each : deliveries) {
                if ("false".equals(each.start().text("signatureValid"))) {
                  found.add(Violation.of(Rule.R5, task, "its signature is invalid"));
                }
                Fields arrived = each.start().fields();
                compare(facts, task, each.fence(), each.began(), arrived, found);
              }
            });
    facts
        .workerClaims()
        .forEach(
            (task, given) ->
                given.forEach(
                    each ->
                        compare(
                            facts, task, each.fence(), each.claim().ended(), each.task(), found)));
    facts
        .changes()
        .forEach((task, changes) -> changes.forEach(change -> editedRunning(task, change, found)));
    return found;
  }

  /** An edit of a running task would be acknowledged without ever being sent. */
  private static void editedRunning(String task, Row change, List<Violation> found) {
    if (change.fields().is("edited")
        && "RUNNING".equals(change.text("from_state"))
        && "RUNNING".equals(change.text("to_state"))) {
      found.add(
          Violation.of(
              Rule.R5,
              task,
              "its payload was edited while fence %s was running",
              change.text("from_fence")));
    }
  }

  /**
   * Compares a payload with the edits and the submit of its task.
   *
   * @param at when it arrived
   */
  private static void compare(
      Facts facts, String task, long fence, long at, Fields arrived, List<Violation> found) {
    String received = arrived.text("payloadHash");
    Op newest = newestEdit(facts, task, fence, at);
    Op request = newest == null ? request(facts, task, arrived.text("n")) : newest;
    String sent = request == null ? null : request.text("payloadHash");
    if (sent == null
        || received == null
        || sent.equals(received)
        || unordered(facts, task, fence, at).contains(received)) {
      return;
    }
    found.add(
        newest == null
            ? Violation.of(Rule.R5, task, "payload hash %s arrived as %s", sent, received)
            : Violation.of(
                Rule.R5,
                task,
                "fence %d was sent with payload hash %s, but the edit to version %s had changed it"
                    + " to %s",
                fence,
                received,
                newest.text("version"),
                sent));
  }

  /**
   * The last acknowledged edit before the claim; null if there is none. The version orders edits
   * and claims. Without a record of the claim, only edits count that were acknowledged before the
   * payload arrived.
   */
  private static @Nullable Op newestEdit(Facts facts, String task, long fence, long at) {
    Op newest = null;
    for (Op edit : facts.opsOf(task, "edit")) {
      if (edit.isOk()
          && isBefore(facts, edit, task, fence, at)
          && (newest == null || version(edit) > version(newest))) {
        newest = edit;
      }
    }
    return newest;
  }

  private static boolean isBefore(Facts facts, Op edit, String task, long fence, long at) {
    Row claim = facts.claim(task, fence);
    return claim == null ? edit.ended() < at : version(edit) <= claim.number("from_version");
  }

  private static long version(Op edit) {
    return edit.number("version", 0);
  }

  /** Payloads of edits that may have happened before the claim or not. */
  private static Set<String> unordered(Facts facts, String task, long fence, long at) {
    Set<String> hashes = new HashSet<>();
    for (Op edit : facts.opsOf(task, "edit")) {
      boolean isConcurrent = edit.isOk() && facts.claim(task, fence) == null && edit.ended() >= at;
      boolean isUnknown = !edit.isOk() && edit.mayHaveHappened();
      if ((isConcurrent || isUnknown) && edit.began() <= at) {
        hashes.add(edit.need("payloadHash"));
      }
    }
    return hashes;
  }

  /** The submit of the task, with or without a response, or the put of its schedule. */
  private static @Nullable Op request(Facts facts, String task, @Nullable String n) {
    Op submit = facts.submitOf(task);
    Row row = facts.task(task);
    if (submit != null) {
      return submit;
    }
    if (row != null && row.text("schedule") != null) {
      return facts.schedulePut(row);
    }
    List<Op> sameNumber = facts.submitsOfNumber(n);
    return sameNumber.isEmpty() ? null : sameNumber.getFirst();
  }
}
