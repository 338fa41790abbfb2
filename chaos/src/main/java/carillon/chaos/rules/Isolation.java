package carillon.chaos.rules;

import carillon.chaos.history.Event;
import carillon.chaos.history.Fields;
import carillon.chaos.history.Kind;
import carillon.chaos.history.Row;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** No tenant sees data of another one, and nothing goes to a forbidden destination. */
final class Isolation {

  private Isolation() {}

  static List<Violation> foreign(Facts facts) {
    List<Violation> found = new ArrayList<>();
    for (Op get : facts.ops("foreign-get")) {
      if (get.end() != null && get.isOk() && get.number("status", 404) != 404) {
        found.add(
            Violation.of(
                Rule.R14,
                get.need("id"),
                "tenant %s, which does not own it, got status %s",
                get.need("tenant"),
                get.text("status")));
      }
    }
    Map<String, String> markers = markers(facts);
    for (Event event : facts.history().events()) {
      if (event.is("recv-start")) {
        misdelivered(event, found);
      }
    }
    facts.ops().forEach(op -> mentioned(op, markers, found));
    facts.workerClaims().forEach((task, given) -> misclaimed(facts, task, given, found));
    return found;
  }

  private static void misclaimed(
      Facts facts, String task, List<WorkerClaim> given, List<Violation> found) {
    Row row = facts.task(task);
    String owner = row == null ? null : facts.tenantOf(row);
    for (WorkerClaim each : given) {
      String claimer = each.claim().invoke().text("tenant");
      if (owner != null && claimer != null && !owner.equals(claimer)) {
        found.add(
            Violation.of(
                Rule.R14,
                task,
                "belongs to tenant %s, but a worker of %s received it",
                owner,
                claimer));
      }
    }
  }

  private static Map<String, String> markers(Facts facts) {
    Map<String, String> markers = new LinkedHashMap<>();
    for (Fields each : facts.options().list("markers")) {
      markers.put(each.need("tenant"), each.need("marker"));
    }
    return markers;
  }

  private static void misdelivered(Event start, List<Violation> found) {
    String expected = start.text("expected");
    String tenant = start.text("tenant");
    if (expected != null && tenant != null && !expected.equals(tenant)) {
      found.add(
          Violation.of(
              Rule.R14,
              start.need("task"),
              "belongs to tenant %s, but was delivered to %s",
              tenant,
              expected));
    }
  }

  /** The end of an operation does not repeat its tenant. */
  private static void mentioned(Op op, Map<String, String> markers, List<Violation> found) {
    Event end = op.end();
    String caller = op.invoke().text("tenant");
    String text = end == null ? "" : end.fields().toString();
    markers.forEach(
        (tenant, marker) -> {
          if (caller != null && !tenant.equals(caller) && text.contains(marker)) {
            found.add(
                Violation.of(
                    Rule.R14,
                    op.text("id"),
                    "a response to tenant %s contains the marker of %s",
                    caller,
                    tenant));
          }
        });
  }

  static List<Violation> hygiene(Facts facts) {
    List<Violation> found = new ArrayList<>();
    List<String> forbidden = new ArrayList<>(markers(facts).values());
    facts.options().list("secrets").forEach(each -> forbidden.add(each.need("secret")));
    facts.history().logs().forEach((node, log) -> search(node, log, forbidden, found));
    for (Event event : facts.history().events()) {
      boolean isAnswer = event.kind() != Kind.INVOKE && event.kind() != Kind.EVENT;
      if (isAnswer && event.fields().mentions("at carillon.")) {
        found.add(
            Violation.of(
                Rule.R21, event.text("id"), "response %d contains a stack trace", event.seq()));
      }
    }
    return found;
  }

  private static void search(String node, Path log, List<String> forbidden, List<Violation> found) {
    // Latin 1 can decode any bytes of a crashing process.
    try (Stream<String> lines = Files.lines(log, StandardCharsets.ISO_8859_1)) {
      lines
          .filter(line -> forbidden.stream().anyMatch(line::contains))
          .limit(10)
          .forEach(
              line ->
                  found.add(
                      Violation.of(
                          Rule.R21, null, "the log " + node + " contains a payload or secret")));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static List<Violation> egress(Facts facts) {
    List<Violation> found = new ArrayList<>();
    for (Event event : facts.history().events()) {
      if (event.is("dial") && !event.fields().is("allowed")) {
        found.add(
            Violation.of(Rule.R22, event.text("task"), "connected to " + event.need("address")));
      }
      if (event.is("egress") && event.number("status") / 100 == 2) {
        found.add(Violation.of(Rule.R22, null, "accepted a task for " + event.need("address")));
      }
    }
    return found;
  }
}
