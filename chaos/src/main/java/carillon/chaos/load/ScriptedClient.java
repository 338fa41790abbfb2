package carillon.chaos.load;

import carillon.chaos.cluster.Api;
import carillon.chaos.cluster.Api.Reply;
import carillon.chaos.cluster.Cluster;
import carillon.chaos.cluster.Node;
import carillon.chaos.history.Fields;
import carillon.chaos.history.Recorder;
import java.io.IOException;
import java.net.URI;
import java.time.InstantSource;
import java.util.List;
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
  private int submits;

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
    int n = FIRST_NUMBER + submits++;
    String payload = "{\"marker\":\"%s\",\"n\":%d}".formatted(tenant.marker(), n);
    long op =
        recorder.invoke(
            "submit",
            Fields.of("tenant", tenant.name())
                .and("key", "directed-" + n)
                .and("type", type)
                .and("target", target)
                .and("dueAt", clock.instant())
                .and("n", n)
                .and("payloadHash", Payload.hash(payload))
                .and("maxAttempts", Load.MAX_ATTEMPTS));
    String body = "{\"type\": \"%s\", \"payload\": %s%s}".formatted(type, payload, more);
    Reply.Answered answered =
        call(Api.Call.post("/v1/tasks", tenant.key(), body).withIdempotencyKey("directed-" + n));
    String id = answered.body().path("id").asString("");
    recorder.ok(op, "submit", Fields.of("id", id).and("status", answered.status()));
    return id;
  }

  /** Claims one task for a worker. */
  public Held claim(String type, String worker, String lease)
      throws IOException, InterruptedException {
    long op =
        recorder.invoke(
            "work-claim",
            Fields.of("tenant", tenant.name())
                .and("worker", worker)
                .and("max", 1)
                .and("type", type));
    String body =
        "{\"types\": [\"%s\"], \"max\": 1, \"wait\": \"5s\", \"worker\": \"%s\", \"lease\": \"%s\"}"
            .formatted(type, worker, lease);
    JsonNode tasks = call(Api.Call.post("/v1/work/claim", tenant.key(), body)).body().path("tasks");
    JsonNode task = tasks.path(0);
    Held held =
        new Held(
            task.path("id").asString(""),
            task.path("token").asString(""),
            task.path("fence").asLong());
    Fields given =
        Fields.of("id", held.id())
            .and("fence", held.fence())
            .and("attempt", task.path("attempt").asLong())
            .and("n", task.path("payload").path("n").asLong());
    recorder.ok(op, "work-claim", Fields.of("tasks", List.of(given)));
    return held;
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
    URI url = node.url();
    long op =
        recorder.invoke(
            "cancel", Fields.of("tenant", tenant.name()).and("id", id).and("node", node.label()));
    Reply reply =
        url == null
            ? new Reply.NotSent("not ready")
            : cluster
                .api()
                .send(url, Api.Call.post("/v1/tasks/" + id + "/cancel", tenant.key(), null));
    switch (reply) {
      case Reply.Answered answered when answered.status() / 100 == 2 ->
          recorder.ok(op, "cancel", Fields.of("status", answered.status()));
      case Reply.Answered answered when answered.status() / 100 == 4 ->
          recorder.fail(op, "cancel", Fields.of("status", answered.status()));
      default -> recorder.info(op, "cancel", Fields.of("error", reply.toString()));
    }
  }
}
