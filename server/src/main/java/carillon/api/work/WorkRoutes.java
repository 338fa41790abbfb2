package carillon.api.work;

import carillon.api.error.ErrorCode;
import carillon.api.error.Limits;
import carillon.api.http.Answer;
import carillon.api.http.Call;
import carillon.api.http.Endpoint;
import carillon.api.http.Idempotency;
import carillon.api.http.Permission;
import carillon.api.json.Fields;
import carillon.api.json.JsonText;
import carillon.api.json.Times;
import carillon.api.tasks.TaskJson;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.task.ClaimToken;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Lease;
import carillon.store.queue.PullQueue;
import carillon.store.queue.WorkReport;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** Lets workers claim tasks, report results and renew leases. */
public final class WorkRoutes {

  private static final int MAX_NAME_CHARS = 200;
  private static final int MAX_ERROR_CHARS = 4096;
  private static final Duration MAX_RETRY_AFTER = Duration.ofHours(24);

  private final PullQueue queue;
  private final Idempotency idempotency;
  private final BooleanSupplier stopping;
  private final Set<Waiting> waiting = ConcurrentHashMap.newKeySet();

  /**
   * @param stopping when true, waiting claims return early
   */
  public WorkRoutes(PullQueue queue, Idempotency idempotency, BooleanSupplier stopping) {
    this.queue = queue;
    this.idempotency = idempotency;
    this.stopping = stopping;
  }

  public List<Endpoint> endpoints() {
    return List.of(
        Endpoint.post("/v1/work/claim", Permission.WORK, this::claim),
        Endpoint.post("/v1/work/report", Permission.WORK, this::report),
        Endpoint.post("/v1/work/renew", Permission.WORK, this::renew),
        Endpoint.post("/v1/work/hang-up", Permission.WORK, this::hangUp));
  }

  private record Claim(
      List<String> types, int max, Duration maxWait, String worker, @Nullable Duration lease) {}

  /** A claim that waits on this node. Compared by identity: a worker may have several. */
  private static final class Waiting {

    private final TenantId tenant;
    private final String who;
    private final String worker;
    private volatile boolean isOver;

    Waiting(Call call, Claim claim) {
      this.tenant = call.tenant();
      this.who = call.caller().who();
      this.worker = claim.worker();
    }

    boolean isOf(Call call, String name) {
      return tenant.equals(call.tenant()) && who.equals(call.caller().who()) && worker.equals(name);
    }
  }

  private Answer claim(Call call) throws InterruptedException {
    Claim claim = readClaim(call);
    Waiting mine = new Waiting(call, claim);
    waiting.add(mine);
    try {
      return claim(call, claim, mine);
    } finally {
      waiting.remove(mine);
    }
  }

  private Answer claim(Call call, Claim claim, Waiting mine) throws InterruptedException {
    long deadline = System.nanoTime() + claim.maxWait().toNanos();
    while (true) {
      Optional<Answer> answer =
          idempotency.attempt(
              call,
              tx -> {
                List<ClaimedTask> tasks =
                    queue.claim(
                        tx,
                        call.tenant(),
                        claim.types(),
                        claim.max(),
                        claim.worker(),
                        claim.lease());
                return tasks.isEmpty() ? Optional.empty() : Optional.of(claimed(tasks));
              });
      Duration left = Duration.ofNanos(deadline - System.nanoTime());
      if (answer.isPresent() || !left.isPositive() || stopping.getAsBoolean() || mine.isOver) {
        return answer.orElseGet(() -> claimed(List.of()));
      }
      queue.awaitWork(call.tenant(), claim.types(), left, () -> mine.isOver);
    }
  }

  /**
   * Makes the waiting claims of a worker on this node return now. A worker must call this before it
   * stops, because its claim would keep waiting and claim tasks that nobody works on.
   */
  private Answer hangUp(Call call) {
    Fields fields = call.fields();
    String worker = fields.required("worker", fields.text("worker", MAX_NAME_CHARS));
    fields.done();
    fields.errors().throwIfAny();
    int ended = 0;
    for (Waiting each : waiting) {
      if (worker != null && each.isOf(call, worker)) {
        each.isOver = true;
        ended++;
      }
    }
    queue.wake();
    return Answer.json(200, JsonNodeFactory.instance.objectNode().put("ended", ended));
  }

  private static Claim readClaim(Call call) {
    Fields fields = call.fields();
    List<String> types = fields.strings("types", Limits.CLAIM_TYPES);
    fields.required("types", types);
    if (fields.has("types") && types.isEmpty()) {
      fields.wrong(
          "types", ErrorCode.REQUIRED_FIELD, "must name 1 to " + Limits.CLAIM_TYPES + " types");
    }
    for (int i = 0; i < types.size(); i++) {
      if (!Fields.TYPE_NAME.matcher(types.get(i)).matches()) {
        fields.wrong(
            "types", ErrorCode.INVALID_VALUE, "item " + i + " must match " + Fields.TYPE_NAME);
      }
    }
    Integer max = fields.integer("max", 1, Limits.CLAIM_TASKS);
    Duration wait = fields.duration("wait", Duration.ZERO, Limits.CLAIM_WAIT);
    String worker = fields.text("worker", MAX_NAME_CHARS);
    Duration lease = fields.duration("lease", Limits.LEASE_MIN, Limits.LEASE_MAX);
    fields.done();
    fields.errors().throwIfAny();
    types.forEach(call.caller()::requireAccess);
    return new Claim(
        types.stream().distinct().toList(),
        max == null ? 1 : max,
        wait == null ? Duration.ZERO : wait,
        worker == null ? call.caller().who() : worker,
        lease);
  }

  private static Answer claimed(List<ClaimedTask> tasks) {
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    ArrayNode array = node.putArray("tasks");
    tasks.forEach(task -> array.add(TaskJson.claimed(task)));
    return Answer.json(200, node);
  }

  private Answer report(Call call) {
    Fields fields = call.fields();
    List<WorkReport> reports = new ArrayList<>();
    for (Fields each : requiredItems(fields, "results")) {
      WorkReport report = readReport(each);
      if (report != null) {
        reports.add(report);
      }
    }
    fields.done();
    fields.errors().throwIfAny();
    return idempotency.run(
        call,
        tx -> {
          List<Boolean> accepted =
              queue.report(tx, call.tenant(), reports, call.caller().types(), call.caller().who());
          ObjectNode node = JsonNodeFactory.instance.objectNode();
          ArrayNode results = node.putArray("results");
          for (int i = 0; i < reports.size(); i++) {
            results
                .addObject()
                .put("id", reports.get(i).id().toString())
                .put("result", accepted.get(i) ? "accepted" : "stale");
          }
          return Answer.json(200, node);
        });
  }

  private static @Nullable WorkReport readReport(Fields fields) {
    TaskId id = id(fields);
    Lease lease = lease(fields);
    WorkReport.Kind kind =
        fields.required("outcome", fields.choice("outcome", WorkReport.Kind.class));
    String output = output(fields);
    String error = fields.string("error");
    Duration retryAfter = fields.duration("retryAfter", Duration.ZERO, MAX_RETRY_AFTER);
    String progress = fields.text("progress", MAX_ERROR_CHARS);
    fields.done();
    if (id == null || lease == null || kind == null) {
      return null;
    }
    // Truncated, not rejected: otherwise a task with a long stack trace could never be reported.
    String truncated =
        error == null || error.length() <= MAX_ERROR_CHARS
            ? error
            : error.substring(0, MAX_ERROR_CHARS);
    return new WorkReport(id, lease, kind, output, truncated, retryAfter, progress);
  }

  /** The content of a string, or any other value as JSON. */
  private static @Nullable String output(Fields fields) {
    String json = fields.raw("output");
    if (json == null || json.equals("null")) {
      return null;
    }
    String output = json.startsWith("\"") ? JsonText.string(json) : json;
    if (output.getBytes(StandardCharsets.UTF_8).length > Limits.OUTPUT_BYTES) {
      fields.wrong(
          "output",
          ErrorCode.OUTPUT_TOO_LARGE,
          "must have at most " + Limits.OUTPUT_BYTES + " bytes");
      return null;
    }
    return output;
  }

  private Answer renew(Call call) {
    Fields fields = call.fields();
    List<PullQueue.Renewal> renewals = new ArrayList<>();
    for (Fields each : requiredItems(fields, "leases")) {
      TaskId id = id(each);
      Lease lease = lease(each);
      String progress = each.text("progress", MAX_ERROR_CHARS);
      each.done();
      if (id != null && lease != null) {
        renewals.add(new PullQueue.Renewal(id, lease, progress));
      }
    }
    Duration length = fields.duration("lease", Limits.LEASE_MIN, Limits.LEASE_MAX);
    fields.done();
    fields.errors().throwIfAny();
    return idempotency.run(
        call,
        tx ->
            renewed(
                renewals,
                queue.renew(tx, call.tenant(), renewals, call.caller()::hasAccess, length)));
  }

  private static Answer renewed(
      List<PullQueue.Renewal> renewals, List<PullQueue.RenewResult> results) {
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    ArrayNode leases = node.putArray("leases");
    for (int i = 0; i < renewals.size(); i++) {
      PullQueue.RenewResult result = results.get(i);
      leases
          .addObject()
          .put("id", renewals.get(i).id().toString())
          .put("result", result.renewed().name().toLowerCase(Locale.ROOT))
          .put("leaseUntil", Times.formatOrNull(result.leaseUntil()));
    }
    return Answer.json(200, node);
  }

  private static List<Fields> requiredItems(Fields fields, String name) {
    List<Fields> items = fields.objects(name, Limits.CLAIM_TASKS);
    fields.required(name, items);
    if (items.isEmpty() && fields.errors().isEmpty()) {
      fields.wrong(
          name, ErrorCode.REQUIRED_FIELD, "must have 1 to " + Limits.CLAIM_TASKS + " items");
    }
    return items;
  }

  private static @Nullable TaskId id(Fields fields) {
    String text = fields.required("id", fields.string("id"));
    TaskId id = text == null ? null : TaskId.parse(text).orElse(null);
    if (text != null && id == null) {
      fields.wrong("id", ErrorCode.INVALID_ID, "is not a task id");
    }
    return id;
  }

  private static @Nullable Lease lease(Fields fields) {
    String text = fields.required("token", fields.string("token"));
    Lease lease = text == null ? null : ClaimToken.parse(text).orElse(null);
    if (text != null && lease == null) {
      fields.wrong("token", ErrorCode.INVALID_TOKEN, "is not the token of a claim");
    }
    return lease;
  }
}
