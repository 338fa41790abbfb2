package carillon.chaos.load;

import carillon.chaos.cluster.Api;
import carillon.chaos.cluster.Api.Reply;
import carillon.chaos.cluster.Balancer;
import carillon.chaos.cluster.Node;
import carillon.chaos.cluster.RebindingHost;
import carillon.chaos.history.Fields;
import carillon.chaos.history.Recorder;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * A program of one tenant that submits tasks and sometimes cancels, reads, redrives or edits them.
 * When the outcome of a submit with an idempotency key is unknown, it repeats the request with the
 * same key, on any node, until it knows.
 */
final class Client {

  private static final int NUMBERS_PER_CLIENT = 1_000_000; // range of task numbers
  private static final String NAMED = "name"; // answered by a listener other than the receiver
  private static final int MAX_RECENT = 200;
  private static final int MAX_TRIES = 120;
  private static final long RETRY_MILLIS = 250;

  /** How long an edit waits for its task to become due. */
  private static final long MAX_EDIT_WAIT_MILLIS = 500;

  /** An edit is sent up to this long before its task is due, so that it races with the claim. */
  private static final int EDIT_AHEAD_MILLIS = 25;

  /**
   * The client drops the response of one submit with a key in this many, as if it had timed out.
   * Faults alone lose too few responses to test idempotency keys.
   */
  private static final int DROPPED_RESPONSES = 40;

  /** Only a task that is submitted without an idempotency key may start when it is created. */
  private static final int WITHOUT_KEY_PERCENT = 40;

  private final Load load;
  private final Recorder recorder;
  private final Tenant tenant;
  private final SplittableRandom random;
  private final Balancer nodes;
  private final long firstNumber;
  private final long intervalNanos;
  private final InstantSource clock = InstantSource.system();
  private final Deque<Submitted> recent = new ArrayDeque<>();
  private long submits;

  /** A task that is known to exist. */
  private record Submitted(String id, long n, Instant due, boolean dies, Instant at) {}

  /**
   * A submit.
   *
   * @param key with which it can be repeated with the same bytes; null if it must not be repeated
   */
  private record Submit(
      Fields fields, String body, @Nullable String key, long n, Instant due, boolean dies) {

    Submitted as(String id, Instant at) {
      return new Submitted(id, n, due, dies, at);
    }
  }

  Client(Load load, int index, Tenant tenant) {
    this.load = load;
    this.recorder = load.recorder();
    this.tenant = tenant;
    this.random = load.streams().of("client-" + index);
    this.nodes = new Balancer(load.cluster(), random.split());
    this.firstNumber = (long) (index + 1) * NUMBERS_PER_CLIENT;
    this.intervalNanos = (long) (1e9 * load.profile().clients() / load.profile().rate());
  }

  void run() {
    try {
      long next = System.nanoTime() + random.nextLong(intervalNanos);
      while (load.isSubmitting()) {
        long wait = next - System.nanoTime();
        if (wait > 0) {
          Thread.sleep(wait / 1_000_000, (int) (wait % 1_000_000));
        }
        act(draw());
        next = Math.max(System.nanoTime() - intervalNanos, next) + intervalNanos;
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private Load.Action draw() {
    Map<Load.Action, Integer> weights = load.profile().weights();
    int draw = random.nextInt(weights.values().stream().mapToInt(Integer::intValue).sum());
    for (Load.Action action : Load.Action.values()) {
      draw -= weights.getOrDefault(action, 0);
      if (draw < 0) {
        return action;
      }
    }
    return Load.Action.SUBMIT_WEB;
  }

  private void act(Load.Action action) throws InterruptedException {
    switch (action) {
      case SUBMIT_WEB -> submit(random.nextBoolean() ? Tenants.WEB : Tenants.WIDE, "http");
      case SUBMIT_PULLED -> submit(Tenants.PULLED, "pull");
      case SUBMIT_DISCARDED -> submit(Tenants.DISCARDED, "discard");
      case SUBMIT_FORBIDDEN -> submitToForbidden();
      case CANCEL -> {
        Submitted task = anyOf(recent);
        if (task != null) {
          change("cancel", task.id());
        }
      }
      case CANCEL_RUNNING -> cancelRunning();
      case GET -> {
        Submitted task = anyOf(recent);
        if (task != null) {
          get(task.id());
        }
      }
      case FOREIGN_GET -> {
        Submitted task = anyOf(recent);
        if (task != null) {
          foreignGet(task.id());
        }
      }
      case REDRIVE -> redrive();
      case EDIT -> edit();
    }
  }

  /**
   * Sends a task towards the forbidden address: by a name that changes, by a name with only that
   * address, or by the address itself.
   */
  private void submitToForbidden() throws InterruptedException {
    int draw = random.nextInt(10);
    if (draw < 6) {
      submit(Tenants.REBINDING, NAMED);
    } else if (draw < 8) {
      submit(Tenants.INTERNAL, NAMED);
    } else {
      submitForbidden();
    }
  }

  private void submitForbidden() throws InterruptedException {
    String body =
        "{\"type\": \"%s\", \"target\": {\"http\": {\"url\": \"%s\"}}}"
            .formatted(Tenants.INTERNAL, load.rebindingHost().forbiddenUrl());
    Reply reply = nodes.call(nodes.next(), Api.Call.post("/v1/tasks", tenant.key(), body));
    if (reply instanceof Reply.Answered answered) {
      recorder.event(
          "egress", Fields.of("address", RebindingHost.FORBIDDEN).and("status", answered.status()));
    }
  }

  private <T> @Nullable T anyOf(Deque<T> all) {
    List<T> list = new ArrayList<>(all);
    return list.isEmpty() ? null : list.get(random.nextInt(list.size()));
  }

  private void submit(String type, String target) throws InterruptedException {
    Submit submit = newSubmit(type, target);
    for (int i = 0; i < MAX_TRIES; i++) {
      Node node = nodes.next();
      if (submit(submit, node, i > 0) || submit.key() == null) {
        break;
      }
      Thread.sleep(RETRY_MILLIS + random.nextInt(100));
    }
    if (submit.key() != null && random.nextInt(100) == 0) {
      submit(submit, nodes.next(), true); // repeated although its outcome is known
    }
  }

  private Submit newSubmit(String type, String target) {
    long n = firstNumber + submits++;
    Behaviour behaviour = Behaviour.of(load.streams(), n);
    boolean dies = target.equals("http") && behaviour == Behaviour.FAILS;
    String payload = Payload.of(tenant, n, random);
    Instant now = clock.instant();
    StringBuilder body =
        new StringBuilder("{\"type\": \"%s\", \"payload\": %s".formatted(type, payload));
    Instant due = now;
    if (random.nextInt(100) < 35) {
      due = Instant.ofEpochMilli(now.toEpochMilli() + random.nextInt(5000));
      body.append(", \"dueAt\": \"").append(due).append('"');
    }
    if (random.nextInt(100) < 30) {
      body.append(", \"priority\": ").append(random.nextInt(10));
    }
    if (random.nextInt(100) < 4) {
      body.append(", \"concurrencyKey\": \"c").append(random.nextInt(8)).append('"');
    }
    int maxAttempts = dies ? 3 : target.equals(NAMED) ? Load.NAMED_ATTEMPTS : Load.MAX_ATTEMPTS;
    if (dies) {
      body.append(", \"retry\": ").append(Load.retry(maxAttempts));
    }
    String key = random.nextInt(100) < WITHOUT_KEY_PERCENT ? null : "key-" + n;
    Fields fields =
        Fields.of("tenant", tenant.name())
            .and("key", key == null ? "none-" + n : key)
            .and("type", type)
            .and("target", target)
            .and("dueAt", due)
            .and("n", n)
            .and("payloadHash", Payload.hash(payload))
            .and("maxAttempts", maxAttempts);
    return new Submit(fields, body.append('}').toString(), key, n, due, dies);
  }

  /** Returns whether the outcome is known. */
  private boolean submit(Submit submit, @Nullable Node node, boolean isRepeat)
      throws InterruptedException {
    Fields fields = submit.fields().and("node", labelOf(node));
    long op = recorder.invoke("submit", isRepeat ? fields.and("again", true) : fields);
    Api.Call call = Api.Call.post("/v1/tasks", tenant.key(), submit.body());
    String key = submit.key();
    Reply reply = nodes.call(node, key == null ? call : call.withIdempotencyKey(key));
    if (key != null && !isRepeat && random.nextInt(DROPPED_RESPONSES) == 0) {
      reply = new Reply.Lost("the client dropped the response");
    }
    if (reply instanceof Reply.Answered answered && answered.status() / 100 == 2) {
      String id = answered.body().path("id").asString("");
      recorder.ok(op, "submit", Fields.of("id", id).and("status", answered.status()));
      load.acknowledge();
      remember(submit.as(id, clock.instant()));
      return true;
    }
    return end(op, "submit", reply) && isRefused(reply);
  }

  private void remember(Submitted task) {
    recent.addLast(task);
    if (recent.size() > MAX_RECENT) {
      recent.removeFirst();
    }
  }

  /** Whether the submit was rejected permanently, so that a repetition would be rejected too. */
  private static boolean isRefused(Reply reply) {
    return reply instanceof Reply.Answered answered
        && answered.status() != 409
        && answered.status() != 429;
  }

  /** Records a call without a success; returns whether it definitely had no effect. */
  private boolean end(long op, String what, Reply reply) {
    return switch (reply) {
      case Reply.Answered answered when answered.status() / 100 == 4 -> {
        recorder.fail(
            op,
            what,
            Fields.of("status", answered.status())
                .and("code", answered.body().path("code").asString("")));
        yield true;
      }
      case Reply.Answered answered -> {
        recorder.info(
            op,
            what,
            Fields.of("error", "HTTP " + answered.status() + " " + answered.text())
                .and("status", answered.status()));
        yield false;
      }
      case Reply.NotSent notSent -> {
        recorder.fail(op, what, Fields.of("error", notSent.reason()));
        yield true;
      }
      case Reply.Lost lost -> {
        recorder.info(op, what, Fields.of("error", lost.reason()));
        yield false;
      }
    };
  }

  private void cancelRunning() throws InterruptedException {
    List<Receiver.Running> running =
        load.receiver().running().stream()
            .filter(each -> each.tenant().equals(tenant.name()))
            .toList();
    if (!running.isEmpty()) {
      change("cancel", running.get(random.nextInt(running.size())).task());
    }
  }

  /** Redrives a task that has had enough time to become dead. */
  private void redrive() throws InterruptedException {
    Instant before = clock.instant().minusSeconds(3);
    for (Submitted task : recent) {
      if (task.dies() && task.at().isBefore(before)) {
        recent.remove(task);
        change("redrive", task.id());
        return;
      }
    }
  }

  private void change(String what, String id) throws InterruptedException {
    Node node = nodes.next();
    long op = recorder.invoke(what, fieldsOf(id, node));
    String path = "/v1/tasks/" + id + "/" + what;
    endChange(op, what, nodes.call(node, Api.Call.post(path, tenant.key(), null)));
  }

  /** Edits the payload of the task that is due next, around that time, or else of any task. */
  private void edit() throws InterruptedException {
    Instant now = clock.instant();
    Submitted task = nextDue(now);
    if (task == null) {
      task = anyOf(recent);
    }
    if (task == null) {
      return;
    }
    long wait = Duration.between(now, task.due()).toMillis() - random.nextInt(EDIT_AHEAD_MILLIS);
    if (wait > 0 && wait <= MAX_EDIT_WAIT_MILLIS) {
      Thread.sleep(wait);
    }
    Node node = nodes.next();
    String payload = Payload.edited(tenant, task.n(), random);
    Fields fields = fieldsOf(task.id(), node).and("payloadHash", Payload.hash(payload));
    long op = recorder.invoke("edit", fields);
    String path = "/v1/tasks/" + task.id();
    String body = "{\"payload\": %s}".formatted(payload);
    endChange(op, "edit", nodes.call(node, Api.Call.patch(path, tenant.key(), body)));
  }

  private @Nullable Submitted nextDue(Instant now) {
    Instant latest = now.plusMillis(MAX_EDIT_WAIT_MILLIS);
    Submitted next = null;
    for (Submitted each : recent) {
      boolean isSoon = each.due().isAfter(now) && each.due().isBefore(latest);
      if (isSoon && (next == null || each.due().isBefore(next.due()))) {
        next = each;
      }
    }
    return next;
  }

  /** Records the result of a cancel, a redrive or an edit. */
  private void endChange(long op, String what, Reply reply) {
    if (reply instanceof Reply.Answered answered && answered.status() / 100 == 2) {
      recorder.ok(
          op,
          what,
          Fields.of("status", answered.status())
              .and("state", answered.body().path("status").asString(""))
              .and("version", version(answered)));
    } else {
      end(op, what, reply);
    }
  }

  private static @Nullable Long version(Reply.Answered answered) {
    JsonNode version = answered.body().path("version");
    return version.isNumber() ? version.asLong() : null;
  }

  private void get(String id) throws InterruptedException {
    Node node = nodes.next();
    long op = recorder.invoke("get", fieldsOf(id, node));
    Reply reply = nodes.call(node, Api.Call.get("/v1/tasks/" + id, tenant.key()));
    if (reply instanceof Reply.Answered answered && answered.status() == 200) {
      Fields fields =
          Fields.of("state", answered.body().path("status").asString(""))
              .and("version", answered.body().path("version").asLong());
      recorder.ok(
          op, "get", hasForeignMarker(answered) ? fields.and("body", answered.text()) : fields);
    } else {
      end(op, "get", reply);
    }
  }

  private void foreignGet(String id) throws InterruptedException {
    List<Tenant> others = new ArrayList<>(load.tenants());
    others.remove(tenant);
    if (others.isEmpty()) {
      return;
    }
    Tenant other = others.get(random.nextInt(others.size()));
    Node node = nodes.next();
    long op = recorder.invoke("foreign-get", fieldsOf(id, node).and("tenant", other.name()));
    Reply reply = nodes.call(node, Api.Call.get("/v1/tasks/" + id, other.key()));
    if (reply instanceof Reply.Answered answered && answered.status() < 500) {
      Fields fields = Fields.of("status", answered.status());
      recorder.ok(
          op,
          "foreign-get",
          answered.text().contains(tenant.marker()) ? fields.and("body", answered.text()) : fields);
    } else {
      end(op, "foreign-get", reply);
    }
  }

  private boolean hasForeignMarker(Reply.Answered answered) {
    return load.tenants().stream()
        .anyMatch(other -> !other.equals(tenant) && answered.text().contains(other.marker()));
  }

  private Fields fieldsOf(String id, @Nullable Node node) {
    return Fields.of("tenant", tenant.name()).and("id", id).and("node", labelOf(node));
  }

  private static @Nullable String labelOf(@Nullable Node node) {
    return node == null ? null : node.label();
  }
}
