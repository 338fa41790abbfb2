package carillon.client;

import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.MissingNode;

/**
 * A connection to a Carillon server. Creates tasks, schedules and workers; {@code get}, {@code
 * post}, {@code put}, {@code patch} and {@code delete} call the rest of the API.
 *
 * <pre>{@code
 * try (var carillon = Carillon.connect("http://127.0.0.1:8080", key)) {
 *   carillon.enqueue(NewTask.of("greet").payload(Map.of("name", "Ada")).key("ada"));
 * }
 * }</pre>
 *
 * <p>Thread-safe. Every method throws {@link CarillonException} if the server rejects the call or
 * does not respond. Methods such as {@code enqueue} and {@code cancel} retry for a while and take
 * effect once. {@code get}, {@code post}, {@code put}, {@code patch} and {@code delete} send one
 * request each; one without a response may have taken effect, so repeat a POST only with the same
 * idempotency key.
 */
public final class Carillon implements AutoCloseable {

  private static final Duration RETRY_FOR = Duration.ofSeconds(30);

  private final Connection connection;
  private final SenderThreads senders;
  private final JsonMapper mapper;
  private final Duration retryFor;
  private final EnqueueBatcher batcher;

  private Carillon(
      Connection connection, SenderThreads senders, JsonMapper mapper, Duration retryFor) {
    this.connection = connection;
    this.senders = senders;
    this.mapper = mapper;
    this.retryFor = retryFor;
    this.batcher = new EnqueueBatcher(senders, this::create, this::createAll);
  }

  /**
   * Creates a client for a server. Sends nothing yet.
   *
   * @param url the server, such as {@code http://127.0.0.1:8080}
   * @param key an API key or session token
   * @throws IllegalArgumentException if the URL is not an http or https URL
   */
  public static Carillon connect(String url, String key) {
    return connect(URI.create(url), key);
  }

  /** Creates a client for a server, like {@link #connect(String, String)}. */
  public static Carillon connect(URI url, String key) {
    return new Carillon(
        Connection.to(url, key), new SenderThreads(), JsonMapper.builder().build(), RETRY_FOR);
  }

  /** Returns this connection acting on another tenant, which requires an admin key. */
  public Carillon withTenant(String name) {
    return new Carillon(connection.withTenant(name), senders, mapper, retryFor);
  }

  /** Returns this connection with another mapper for payloads and outputs. */
  public Carillon withMapper(JsonMapper mapper) {
    return new Carillon(connection, senders, mapper, retryFor);
  }

  /** Returns this connection with another limit for retries. Default: 30 s. */
  public Carillon withRetryFor(Duration span) {
    return new Carillon(connection, senders, mapper, span);
  }

  /** The mapper for payloads and outputs. */
  public JsonMapper mapper() {
    return mapper;
  }

  /** The URL of the server. */
  public URI url() {
    return connection.url();
  }

  /**
   * Whether the server accepts tasks now.
   *
   * @throws CarillonException if it does not respond within the timeout
   */
  public boolean isReady(Duration timeout) {
    try {
      connection.send(
          connection.request("GET", "/health/ready", null).timeout(timeout), "text/plain");
      return true;
    } catch (CarillonException e) {
      if (e.status() == CarillonException.NO_ANSWER) {
        throw e;
      }
      return false;
    }
  }

  /** Creates a task. When this returns, the task is durable. */
  public CreatedTask enqueue(NewTask task) {
    return create(task.json(mapper), task.idempotencyKey());
  }

  /**
   * Creates a task in a batch with other pending ones, which is much faster than one call each.
   * Blocks only while 10,000 tasks are pending. Stages that depend on the future run in the common
   * pool and may create tasks themselves.
   */
  public CompletableFuture<CreatedTask> enqueueAsync(NewTask task) {
    return batcher.add(task, task.json(mapper));
  }

  /** Creates up to 100,000 tasks, all or none. Returns their ids in the same order. */
  public List<UUID> enqueueAll(List<NewTask> tasks) {
    return enqueueAll(tasks, UUID.randomUUID().toString());
  }

  /**
   * Creates tasks, all or none, and at most once a day per idempotency key, even if another process
   * repeats the same list after a crash.
   */
  public List<UUID> enqueueAll(List<NewTask> tasks, String idempotencyKey) {
    for (NewTask task : tasks) {
      if (task.idempotencyKey() != null) {
        throw new IllegalArgumentException(
            "tasks in a batch cannot have their own idempotency keys");
      }
    }
    if (tasks.isEmpty()) {
      return List.of();
    }
    return createAll(
        tasks.stream().map(task -> (JsonNode) task.json(mapper)).toList(), idempotencyKey);
  }

  private CreatedTask create(JsonNode task, @Nullable String idempotencyKey) {
    String onceKey = idempotencyKey == null ? UUID.randomUUID().toString() : idempotencyKey;
    HttpResponse<String> answer =
        retried(
            () ->
                connection.send(
                    connection
                        .request("POST", "/v1/tasks", task)
                        .header("Idempotency-Key", onceKey),
                    "application/json"));
    UUID id = UUID.fromString(connection.json(answer).path("id").asString());
    return new CreatedTask(id, answer.statusCode() != 200);
  }

  private List<UUID> createAll(List<JsonNode> tasks, String idempotencyKey) {
    JsonNode answer =
        retried(() -> post("/v1/tasks/batch", Map.of("tasks", tasks), idempotencyKey));
    return answer.path("ids").valueStream().map(id -> UUID.fromString(id.asString())).toList();
  }

  private <T> T retried(Supplier<T> call) {
    return new Retries(retryFor).run(call);
  }

  /** The task, if it exists. */
  public Optional<TaskView> task(UUID id) {
    return found(() -> new TaskView(get("/v1/tasks/" + id)));
  }

  /** Cancels a task. No attempt starts afterwards, and the worker that holds it is notified. */
  public CancelResult cancel(UUID id) {
    String idempotencyKey = UUID.randomUUID().toString();
    try {
      JsonNode task = retried(() -> post("/v1/tasks/" + id + "/cancel", null, idempotencyKey));
      return task.path("status").asString("").equals("CANCELLED")
          ? CancelResult.CANCELLED
          : CancelResult.REQUESTED;
    } catch (CarillonException e) {
      return switch (e.status()) {
        case 404 -> CancelResult.NOT_FOUND;
        case 409 -> CancelResult.ENDED;
        default -> throw e;
      };
    }
  }

  /**
   * Cancels all pending tasks of a type with this key and returns their number. Running tasks are
   * asked to stop and not counted.
   */
  public int cancel(String type, String key) {
    String idempotencyKey = UUID.randomUUID().toString();
    return retried(() -> post("/v1/tasks/cancel", Map.of("type", type, "key", key), idempotencyKey))
        .path("cancelled")
        .asInt();
  }

  /** Creates or replaces a schedule and returns it. */
  public JsonNode putSchedule(NewSchedule schedule) {
    return retried(() -> put(path(schedule.name()), schedule.json(mapper)));
  }

  /** The schedule, if it exists. */
  public Optional<JsonNode> schedule(String name) {
    return found(() -> get(path(name)));
  }

  /** Deletes a schedule. Returns false if it did not exist. Tasks that it created remain. */
  public boolean deleteSchedule(String name) {
    AtomicBoolean maybeDeleted = new AtomicBoolean();
    return found(
            () -> {
              try {
                return delete(path(name));
              } catch (CarillonException e) {
                boolean isGone = e.status() == 404 && maybeDeleted.get();
                maybeDeleted.compareAndSet(false, e.isTransient() && e.status() != 429);
                if (isGone) {
                  return MissingNode.getInstance(); // by the call without a response
                }
                throw e;
              }
            })
        .isPresent();
  }

  /** Pauses a schedule. */
  public void pauseSchedule(String name) {
    postAction(name, "pause");
  }

  /** Resumes a schedule. */
  public void resumeSchedule(String name) {
    postAction(name, "resume");
  }

  /** Creates a task from a schedule now and returns its id. */
  public UUID triggerSchedule(String name) {
    JsonNode answer = postAction(name, "trigger");
    return UUID.fromString(answer.path("id").asString());
  }

  private JsonNode postAction(String schedule, String action) {
    String idempotencyKey = UUID.randomUUID().toString();
    return retried(() -> post(path(schedule) + "/" + action, null, idempotencyKey));
  }

  private static String path(String schedule) {
    String name = URLEncoder.encode(schedule, StandardCharsets.UTF_8).replace("+", "%20");
    return "/v1/schedules/" + name;
  }

  private <T> Optional<T> found(Supplier<T> call) {
    try {
      return Optional.of(retried(call));
    } catch (CarillonException e) {
      if (e.status() == 404) {
        return Optional.empty();
      }
      throw e;
    }
  }

  /**
   * Starts building a worker.
   *
   * @param name shown with the tasks that it holds; several processes may share a name
   */
  public WorkerBuilder worker(String name) {
    return new WorkerBuilder(this, name);
  }

  /** Sends a GET request. */
  public JsonNode get(String path) {
    return connection.call(connection.request("GET", path, null));
  }

  /** Sends a GET request for a text response, such as {@code /metrics}. */
  public String text(String path) {
    return connection.send(connection.request("GET", path, null), "text/plain").body();
  }

  /**
   * Sends a POST request.
   *
   * @param body any value that Jackson can write as JSON, or null for none
   */
  public JsonNode post(String path, @Nullable Object body) {
    return connection.call(connection.request("POST", path, body));
  }

  /**
   * Sends a POST request that takes effect at most once a day, however often it is repeated with
   * the same key and body.
   */
  public JsonNode post(String path, @Nullable Object body, String idempotencyKey) {
    return connection.call(
        connection.request("POST", path, body).header("Idempotency-Key", idempotencyKey));
  }

  JsonNode post(String path, Object body, Duration timeout) {
    return connection.call(connection.request("POST", path, body).timeout(timeout));
  }

  /**
   * Sends a POST request with many values.
   *
   * @param lines NDJSON, one JSON value per line
   */
  public JsonNode postLines(String path, byte[] lines) {
    return connection.call(
        connection
            .request("POST", path, null)
            .header("Content-Type", "application/x-ndjson")
            .POST(BodyPublishers.ofByteArray(lines)));
  }

  /** Sends a PUT request. */
  public JsonNode put(String path, Object body) {
    return connection.call(connection.request("PUT", path, body));
  }

  /**
   * Sends a PUT request that applies only to this version; otherwise the server responds with 412
   * or 404 and changes nothing.
   */
  public JsonNode put(String path, Object body, int version) {
    return connection.call(ifMatch(connection.request("PUT", path, body), version));
  }

  /** Sends a PATCH request. */
  public JsonNode patch(String path, Object body) {
    return connection.call(connection.request("PATCH", path, body));
  }

  /** Sends a DELETE request. */
  public JsonNode delete(String path) {
    return connection.call(connection.request("DELETE", path, null));
  }

  /**
   * Sends a DELETE request that applies only to this version; otherwise the server responds with
   * 412 or 404 and deletes nothing.
   */
  public JsonNode delete(String path, int version) {
    return connection.call(ifMatch(connection.request("DELETE", path, null), version));
  }

  private static HttpRequest.Builder ifMatch(HttpRequest.Builder request, int version) {
    return request.header("If-Match", "\"" + version + "\"");
  }

  /**
   * Waits for pending {@link #enqueueAsync} calls and closes the connection, including the copies
   * returned by the {@code with} methods. Close workers first.
   */
  @Override
  public void close() {
    senders.close();
    connection.close();
  }
}
