package carillon.chaos.load;

import carillon.chaos.cluster.Api;
import carillon.chaos.cluster.Api.Reply;
import carillon.chaos.cluster.Cluster;
import carillon.chaos.cluster.Node;
import carillon.chaos.history.Fields;
import carillon.chaos.history.Recorder;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import tools.jackson.databind.JsonNode;

/**
 * A client and worker of one tenant that makes single, recorded calls, for scenarios that need a
 * fixed order.
 */
public final class ScriptedClient {

  private static final int FIRST_NUMBER = 900_000_000; // above the numbers of clients

  private final Cluster cluster;
  private final Recorder recorder;
  private final Tenant tenant;
  private final InstantSource clock = InstantSource.system();
  private final Map<String, Integer> numbers = new ConcurrentHashMap<>(); // by task
  private int submits;
  private int edits;

  /** A task that a worker holds. */
  public record Held(String id, String token, long fence) {}

  public ScriptedClient(Cluster cluster, Tenant tenant) {
    this.cluster = cluster;
    this.recorder = cluster.recorder();
    this.tenant = tenant;
  }

  private Reply.Answered call(Api.Call call) throws IOException, InterruptedException {
    return cluster.callSuccessfully(call);
  }

  /**
   * Creates a task and returns its id.
   *
   * @param more further fields of the task, as JSON
   */
  public String submit(String type, String target, String more)
      throws IOException, InterruptedException {
    return submit(type, target, clock.instant(), more);
  }

  /** Creates a task that is due after a while, and returns its id. */
  public String submitDue(String type, String target, Duration after)
      throws IOException, InterruptedException {
    Instant due = Instant.ofEpochMilli(clock.instant().plus(after).toEpochMilli());
    return submit(type, target, due, ", \"dueAt\": \"" + due + "\"");
  }

  private String submit(String type, String target, Instant due, String more)
      throws IOException, InterruptedException {
    int n = FIRST_NUMBER + submits++;
    String payload = payload(n);
    long op =
        recorder.invoke(
            "submit",
            Fields.of("tenant", tenant.name())
                .and("key", "directed-" + n)
                .and("type", type)
                .and("target", target)
                .and("dueAt", due)
                .and("n", n)
                .and("payloadHash", Payload.hash(payload))
                .and("maxAttempts", Load.MAX_ATTEMPTS));
    String body = "{\"type\": \"%s\", \"payload\": %s%s}".formatted(type, payload, more);
    Reply.Answered answered =
        call(Api.Call.post("/v1/tasks", tenant.key(), body).withIdempotencyKey("directed-" + n));
    String id = answered.body().path("id").asString("");
    recorder.ok(op, "submit", Fields.of("id", id).and("status", answered.status()));
    numbers.put(id, n);
    return id;
  }

  /** All payloads of a task have the same length. */
  private String payload(int n) {
    return "{\"marker\":\"%s\",\"n\":%d,\"edit\":\"%05d\"}".formatted(tenant.marker(), n, edits);
  }

  /** Edits the payload of a task that this client created; returns whether it was still waiting. */
  public boolean edit(String id) throws InterruptedException {
    edits++;
    String payload = payload(Objects.requireNonNull(numbers.get(id)));
    Node node = cluster.nodes().getFirst();
    long op =
        recorder.invoke(
            "edit",
            Fields.of("tenant", tenant.name())
                .and("id", id)
                .and("node", node.label())
                .and("payloadHash", Payload.hash(payload)));
    String body = "{\"payload\": %s}".formatted(payload);
    Reply reply = send(node, Api.Call.patch("/v1/tasks/" + id, tenant.key(), body));
    if (reply instanceof Reply.Answered answered && answered.status() == 200) {
      recorder.ok(
          op,
          "edit",
          Fields.of("status", answered.status())
              .and("state", answered.body().path("status").asString(""))
              .and("version", answered.body().path("version").asLong()));
      return answered.body().path("status").asString("").equals("PENDING");
    }
    end(op, "edit", reply);
    return false;
  }

  /** Claims one task for a worker. */
  public Held claim(String type, String worker, String lease)
      throws IOException, InterruptedException {
    return claim(type, worker, lease, 1).getFirst();
  }

  /** Claims tasks for a worker, as many as there are now but at least one, in one claim. */
  public List<Held> claim(String type, String worker, String lease, int max)
      throws IOException, InterruptedException {
    long op =
        recorder.invoke(
            "work-claim",
            Fields.of("tenant", tenant.name())
                .and("worker", worker)
                .and("max", max)
                .and("type", type));
    String body =
        "{\"types\": [\"%s\"], \"max\": %d, \"wait\": \"5s\", \"worker\": \"%s\", \"lease\": \"%s\"}"
            .formatted(type, max, worker, lease);
    List<Held> claimed = new ArrayList<>();
    List<Fields> given = new ArrayList<>();
    for (JsonNode task :
        call(Api.Call.post("/v1/work/claim", tenant.key(), body)).body().path("tasks")) {
      Held held =
          new Held(
              task.path("id").asString(""),
              task.path("token").asString(""),
              task.path("fence").asLong());
      claimed.add(held);
      given.add(
          Fields.of("id", held.id())
              .and("fence", held.fence())
              .and("attempt", task.path("attempt").asLong())
              .and("n", task.path("payload").path("n").asLong()));
    }
    recorder.ok(op, "work-claim", Fields.of("tasks", given));
    if (claimed.isEmpty()) {
      throw new IOException("no task of type " + type + " became due in time");
    }
    return claimed;
  }

  public void renew(Held held, String lease) throws IOException, InterruptedException {
    long op =
        recorder.invoke(
            "work-renew",
            Fields.of("tenant", tenant.name()).and("id", held.id()).and("fence", held.fence()));
    String body =
        "{\"leases\": [{\"id\": \"%s\", \"token\": \"%s\"}], \"lease\": \"%s\"}"
            .formatted(held.id(), held.token(), lease);
    JsonNode leases = call(Api.Call.post("/v1/work/renew", tenant.key(), body)).body();
    String result = leases.path("leases").path(0).path("result").asString("");
    recorder.ok(op, "work-renew", Fields.of("result", result));
  }

  /** Reports an outcome and returns the result: accepted or stale. */
  public String report(Held held, String outcome) throws IOException, InterruptedException {
    long op =
        recorder.invoke(
            "work-report",
            Fields.of("tenant", tenant.name())
                .and("id", held.id())
                .and("fence", held.fence())
                .and("outcome", outcome));
    String body =
        "{\"results\": [{\"id\": \"%s\", \"token\": \"%s\", \"outcome\": \"%s\"}]}"
            .formatted(held.id(), held.token(), outcome);
    JsonNode results = call(Api.Call.post("/v1/work/report", tenant.key(), body)).body();
    String result = results.path("results").path(0).path("result").asString("");
    recorder.ok(op, "work-report", Fields.of("result", result));
    return result;
  }

  /** Cancels a task. Unlike the other calls this one may fail, because the node may be crashing. */
  public void cancel(String id) throws InterruptedException {
    Node node = cluster.nodes().getFirst();
    long op =
        recorder.invoke(
            "cancel", Fields.of("tenant", tenant.name()).and("id", id).and("node", node.label()));
    end(op, "cancel", send(node, Api.Call.post("/v1/tasks/" + id + "/cancel", tenant.key(), null)));
  }

  private Reply send(Node node, Api.Call call) throws InterruptedException {
    URI url = node.url();
    return url == null ? new Reply.NotSent("not ready") : cluster.api().send(url, call);
  }

  private void end(long op, String what, Reply reply) {
    switch (reply) {
      case Reply.Answered answered when answered.status() / 100 == 2 ->
          recorder.ok(op, what, Fields.of("status", answered.status()));
      case Reply.Answered answered when answered.status() / 100 == 4 ->
          recorder.fail(op, what, Fields.of("status", answered.status()));
      default -> recorder.info(op, what, Fields.of("error", reply.toString()));
    }
  }
}
