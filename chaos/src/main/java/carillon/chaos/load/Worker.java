package carillon.chaos.load;

import carillon.chaos.cluster.Api;
import carillon.chaos.cluster.Api.Reply;
import carillon.chaos.cluster.Balancer;
import carillon.chaos.cluster.HarnessThread;
import carillon.chaos.cluster.Node;
import carillon.chaos.history.Fields;
import carillon.chaos.history.Recorder;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * A pull worker that is not always reliable: it may report late, twice, with an old token, or
 * never.
 */
final class Worker {

  private static final String LEASE = "2s";
  private static final long LATE_MILLIS = 2_600;
  private static final long PAUSE_MILLIS = 200;

  private final Load load;
  private final Recorder recorder;
  private final Tenant tenant;
  private final String name;
  private final SplittableRandom random;
  private final Balancer nodes;
  private final Map<String, Held> previous = new HashMap<>();

  /** A task as one claim returned it. */
  private record Held(String id, String token, long fence) {}

  Worker(Load load, Tenant tenant, String name) {
    this.load = load;
    this.recorder = load.recorder();
    this.tenant = tenant;
    this.name = name;
    this.random = load.streams().of(name);
    this.nodes = new Balancer(load.cluster(), random.split());
  }

  void run() {
    try {
      while (load.isWorking()) {
        List<Held> claimed = claim();
        for (Held held : claimed) {
          work(held);
        }
        if (claimed.isEmpty()) {
          Thread.sleep(PAUSE_MILLIS);
        }
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private List<Held> claim() throws InterruptedException {
    int max = random.nextInt(1, 13);
    Node node = nodes.next();
    long op =
        recorder.invoke("work-claim", fieldsOf(node).and("max", max).and("type", Tenants.PULLED));
    Reply reply =
        nodes.call(
            node,
            Api.Call.post(
                "/v1/work/claim",
                tenant.key(),
                "{\"types\": [\"%s\"], \"max\": %d, \"wait\": \"1s\", \"worker\": \"%s\", \"lease\": \"%s\"}"
                    .formatted(Tenants.PULLED, max, name, LEASE)));
    if (!(reply instanceof Reply.Answered answered) || answered.status() != 200) {
      end(op, "work-claim", reply);
      return List.of();
    }
    List<Held> held = new ArrayList<>();
    List<Fields> tasks = new ArrayList<>();
    for (JsonNode task : answered.body().path("tasks")) {
      Held each =
          new Held(
              task.path("id").asString(),
              task.path("token").asString(),
              task.path("fence").asLong());
      held.add(each);
      tasks.add(
          Fields.of("id", each.id())
              .and("attempt", task.path("attempt").asLong())
              .and("fence", each.fence())
              .and("token", Payload.hash(each.token()))
              .and("leaseUntil", time(task.path("leaseUntil").asString("")))
              .and("n", task.path("payload").path("n").asLong())
              .and("payloadHash", Payload.hash(task.path("payload").toString())));
    }
    recorder.ok(op, "work-claim", Fields.of("tasks", tasks));
    return held;
  }

  private static @Nullable Instant time(String text) {
    try {
      return Instant.parse(text);
    } catch (DateTimeParseException _) {
      return null;
    }
  }

  private void work(Held held) throws InterruptedException {
    Held before = previous.put(held.id(), held);
    int draw = random.nextInt(100);
    if (before != null && draw < 30) {
      report(before, "completed", true); // with the token of an earlier claim
    }
    if (draw < 70) {
      report(held, "completed");
    } else if (draw < 77) {
      report(held, "failed");
    } else if (draw < 84) {
      renew(held);
      report(held, "completed");
    } else if (draw < 89) {
      HarnessThread.start(recorder, name + "-late", () -> reportLate(held));
    } else if (draw < 93) {
      report(held, "completed");
      report(held, "completed");
    } else if (draw < 96) {
      report(held, "released");
    } else if (draw < 97) {
      report(held, "dead");
    } // else it never reports
  }

  private void reportLate(Held held) {
    try {
      Thread.sleep(LATE_MILLIS);
      report(held, "completed", true);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private void report(Held held, String outcome) throws InterruptedException {
    report(held, outcome, false);
  }

  /**
   * @param isLate whether the lease has expired by now
   */
  private void report(Held held, String outcome, boolean isLate) throws InterruptedException {
    Node node = nodes.next();
    Fields fields = fieldsOf(held, node).and("outcome", outcome);
    long op = recorder.invoke("work-report", isLate ? fields.and("late", true) : fields);
    Reply reply =
        nodes.call(
            node,
            Api.Call.post(
                "/v1/work/report",
                tenant.key(),
                "{\"results\": [{\"id\": \"%s\", \"token\": \"%s\", \"outcome\": \"%s\"}]}"
                    .formatted(held.id(), held.token(), outcome)));
    end(op, "work-report", "results", reply);
  }

  private void renew(Held held) throws InterruptedException {
    Node node = nodes.next();
    long op = recorder.invoke("work-renew", fieldsOf(held, node));
    Reply reply =
        nodes.call(
            node,
            Api.Call.post(
                "/v1/work/renew",
                tenant.key(),
                "{\"leases\": [{\"id\": \"%s\", \"token\": \"%s\"}], \"lease\": \"%s\"}"
                    .formatted(held.id(), held.token(), LEASE)));
    end(op, "work-renew", "leases", reply);
  }

  private void end(long op, String what, String list, Reply reply) {
    if (reply instanceof Reply.Answered answered && answered.status() == 200) {
      String result = answered.body().path(list).path(0).path("result").asString("");
      recorder.ok(op, what, Fields.of("result", result));
    } else {
      end(op, what, reply);
    }
  }

  private void end(long op, String what, Reply reply) {
    switch (reply) {
      case Reply.Answered answered when answered.status() / 100 == 4 ->
          recorder.fail(op, what, Fields.of("status", answered.status()));
      case Reply.Answered answered ->
          recorder.info(op, what, Fields.of("error", "HTTP " + answered.status()));
      case Reply.NotSent notSent -> recorder.fail(op, what, Fields.of("error", notSent.reason()));
      case Reply.Lost lost -> recorder.info(op, what, Fields.of("error", lost.reason()));
    }
  }

  private Fields fieldsOf(@Nullable Node node) {
    return Fields.of("tenant", tenant.name())
        .and("worker", name)
        .and("node", node == null ? null : node.label());
  }

  private Fields fieldsOf(Held held, @Nullable Node node) {
    return fieldsOf(node).and("id", held.id()).and("fence", held.fence());
  }
}
