package carillon.browser;

import static org.awaitility.Awaitility.await;

import carillon.client.Carillon;
import carillon.client.NewTask;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import tools.jackson.databind.JsonNode;

/** The types, tasks and schedules of a small shop, created through the API. */
final class Samples {

  /** The key of the failed task in {@link WalkTest}. */
  static final String ORDER = "order-1042";

  static final String REASON = "no tax rate for country XK";

  private static final Map<String, Object> DISCARD = Map.of("discard", Map.of());
  private static final Map<String, Object> TWO_ATTEMPTS =
      Map.of("maxAttempts", 2, "backoff", "fixed", "base", "100ms", "jitter", "none");

  private final Carillon carillon;
  private final Receiver receiver;

  Samples(Carillon carillon, Receiver receiver) {
    this.carillon = carillon;
    this.receiver = receiver;
  }

  /** Creates everything, and returns when all dead letters exist. */
  void create() {
    types();
    tasks();
    schedules();
    await("18 dead letters")
        .atMost(Duration.ofSeconds(30))
        .until(() -> carillon.get("/v1/dead-letters?limit=100").get("items").size() == 18);
  }

  void types() {
    receiver.respond("/invoice", 500, "{\"error\":\"" + REASON + "\"}");
    receiver.respond("/export", 422, "{\"error\":\"unknown format: csv2\"}");
    put(
        "invoice",
        Map.of("target", receiver.target("/invoice"), "retry", TWO_ATTEMPTS, "priority", 7));
    put("export", Map.of("target", receiver.target("/export")));
    put("welcome-mail", Map.of("target", DISCARD));
    put("newsletter", Map.of("target", DISCARD, "paused", true));
    put("thumbnail", Map.of("leaseTimeout", "1h"));
  }

  private void put(String type, Map<String, Object> settings) {
    carillon.put("/v1/types/" + type, settings);
  }

  private void tasks() {
    List<NewTask> tasks = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      tasks.add(NewTask.of("welcome-mail").key("customer-" + i).payload(Map.of("customer", i)));
    }
    for (int i = 0; i < 11; i++) {
      tasks.add(invoice(1_043 + i));
    }
    for (int i = 0; i < 3; i++) {
      tasks.add(NewTask.of("export").key("export-" + i).payload(Map.of("format", "csv2")));
    }
    for (int i = 0; i < 25; i++) {
      tasks.add(NewTask.of("newsletter").key("reader-" + i).metadata("issue", "2026-11"));
    }
    for (int i = 0; i < 20; i++) {
      tasks.add(
          NewTask.of("reminder")
              .key("customer-" + i)
              .delay(Duration.ofHours(2 + i))
              .target(DISCARD));
    }
    for (int i = 0; i < 5; i++) {
      tasks.add(NewTask.of("thumbnail").key("image-" + i).payload(Map.of("width", 640)));
    }
    carillon.enqueueAll(tasks);
    carillon.enqueue(invoice(1_042));
    carillon.cancel(
        carillon.enqueue(NewTask.of("reminder").key("customer-99").delay(Duration.ofDays(1))).id());
    images();
  }

  /** A task that fails until the receiver responds with success. */
  static NewTask invoice(int order) {
    return NewTask.of("invoice")
        .key("order-" + order)
        .payload(
            Map.of("order", order, "customer", "Ada Lovelace", "amount", "129.90", "country", "XK"))
        .metadata("region", "eu-west");
  }

  /** Claims the image tasks as a worker: three end dead, the others stay in flight. */
  private void images() {
    JsonNode claimed =
        carillon.post(
            "/v1/work/claim",
            Map.of("types", List.of("thumbnail"), "max", 5, "wait", "10s", "worker", "images-1"));
    List<Map<String, Object>> results = new ArrayList<>();
    for (JsonNode task : claimed.get("tasks")) {
      if (results.size() < 3) {
        results.add(
            Map.of(
                "id",
                task.get("id").asString(),
                "token",
                task.get("token").asString(),
                "outcome",
                "dead",
                "error",
                "not an image: the file starts with <!doctype html>"));
      }
    }
    carillon.post("/v1/work/report", Map.of("results", results));
  }

  private void schedules() {
    carillon.put(
        "/v1/schedules/nightly-report",
        Map.of(
            "cron", "30 2 * * *",
            "timezone", "Europe/Berlin",
            "type", "report",
            "target", DISCARD));
    carillon.put("/v1/schedules/stock", Map.of("every", "15m", "type", "stock", "target", DISCARD));
    carillon.put(
        "/v1/schedules/payouts",
        Map.of("cron", "0 9 * * 1-5", "timezone", "Europe/Berlin", "type", "payout"));
    carillon.post(
        "/v1/schedules/payouts/pause", Map.of("reason", "until the new bank is connected"));
    carillon.triggerSchedule("stock");
    Instant now = Instant.now().truncatedTo(ChronoUnit.SECONDS);
    carillon.post(
        "/v1/schedules/nightly-report/backfill",
        Map.of("from", now.minus(Duration.ofDays(12)).toString(), "to", now.toString()));
  }

  /** The id of the task with this key. */
  UUID id(String key) {
    return UUID.fromString(
        carillon.get("/v1/tasks?key=" + key).get("items").get(0).get("id").asString());
  }
}
