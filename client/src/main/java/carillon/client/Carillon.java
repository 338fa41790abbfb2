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
 * A connection to a Carillon server: creates tasks and schedules, makes workers, and has one method
 * for each kind of HTTP request for all else that the API can do.
 *
 * <pre>{@code
 * try (var carillon = Carillon.connect("http://127.0.0.1:8080", key)) {
 *   carillon.enqueue(NewTask.of("greet").payload(Map.of("name", "Ada")).key("ada"));
 * }
 * }</pre>
 *
 * <p>Safe to share between threads. Every method throws {@link CarillonException} if the server
 * refuses the call or does not answer. What creates, cancels or is otherwise named after what it
 * does is repeated by itself for a while, without doing it twice; {@code get}, {@code post}, {@code
 * put}, {@code patch} and {@code delete} are one request each, and one without an answer may have
 * taken effect, so repeat a POST with the same idempotency key.
 */
public final class Carillon implements AutoCloseable {

  private static final Duration RETRY_FOR = Duration.ofSeconds(30);

  private final Connection connection;
  private final SenderThreads senders;
  private final JsonMapper mapper;
  private final Duration retryFor;
  private final EnqueueBatcher batcher;

  private Carillon(Connection connection, SenderThreads senders, JsonMapper mapper, Duration retryFor) {
    this.connection = connection;
    this.senders = senders;
    this.mapper = mapper;
    this.retryFor = retryFor;
    this.batcher = new EnqueueBatcher(senders, this::create, this::createAll);
  }

  /**
   * Prepares to call a server; nothing is sent yet.
   *
   * @param url where the server is, such as {@code http://127.0.0.1:8080}
   * @param key an API key or session token
   * @throws IllegalArgumentException if the URL is not an http or https one
   */
  public static Carillon connect(String url, String key) {
    return connect(URI.create(url), key);
  }

  /** Prepares to call a server, like {@link #connect(String, String)}. */
  public static Carillon connect(URI url, String key) {
    return new Carillon(
        Connection.to(url, key), new SenderThreads(), JsonMapper.builder().build(), RETRY_FOR);
  }

  /** The same connection acting on another tenant, which only an admin key may. */
  public Carillon withTenant(String name) {
    return new Carillon(connection.withTenant(name), senders, mapper, retryFor);
  }

  /** The same connection writing and reading payloads and outputs with a mapper of yours. */
  public Carillon withMapper(JsonMapper mapper) {
    return new Carillon(connection, senders, mapper, retryFor);
  }

  /** The same connection repeating calls without an answer for this long; 30 s unless said. */
  public Carillon withRetryFor(Duration span) {
    return new Carillon(connection, senders, mapper, span);
  }

  /** What payloads and outputs are written and read with. */
  public JsonMapper mapper() {
    return mapper;
  }

  /** Where the server is. */
  public URI url() {
    return connection.url();
  }

  /**
   * Whether the server takes tasks now.
   *
   * @throws CarillonException if it does not answer within this time
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

  /** Creates a task; when this returns, it is durable. */
  public CreatedTask enqueue(NewTask task) {
    return create(task.json(mapper), task.idempotencyKey());
  }

  /**
   * Creates a task, together with others that are waiting to be created; many at once are much
   * quicker than one after the other. Waits only while 10,000 are under way. What hangs on the
   * future runs in the common pool, and may create tasks in turn.
   */
  public CompletableFuture<CreatedTask> enqueueAsync(NewTask task) {
    return batcher.add(task, task.json(mapper));
  }

  /** Creates up to 100,000 tasks, all or none; their ids in the same order. */
  public List<UUID> enqueueAll(List<NewTask> tasks) {
    return enqueueAll(tasks, UUID.randomUUID().toString());
  }

  /**
   * Creates tasks, all or none, and at most once a day under this key: also if another process
   * repeats the very same list after a crash.
   */
  public List<UUID> enqueueAll(List<NewTask> tasks, String idempotencyKey) {
    for (NewTask task : tasks) {
      if (task.idempotencyKey() != null) {
        throw new IllegalArgumentException(
            "in a batch, tasks have no idempotency key of their own");
      }
    }
    if (tasks.isEmpty()) {
      return List.of();
    }
    return createAll(
        tasks.stream().map(task -> (JsonNode) task.json(mapper)).toList(), idempotencyKey);
  }

  private CreatedTask create(JsonNode task, @Nullable String idempotencyKey) {
    String once = idempotencyKey == null ? UUID.randomUUID().toString() : idempotencyKey;
    HttpResponse<String> answer =
        retried(
            () ->
                connection.send(
                    connection.request("POST", "/v1/tasks", task).header("Idempotency-Key", once),
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

  /** The task, if there is one. */
  public Optional<TaskView> task(UUID id) {
    return found(() -> new TaskView(get("/v1/tasks/" + id)));
  }

  /** Cancels a task: no attempt starts afterwards, and a worker that has it is told. */
  public CancelResult cancel(UUID id) {
    String once = UUID.randomUUID().toString();
    try {
      JsonNode task = retried(() -> post("/v1/tasks/" + id + "/cancel", null, once));
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
   * Cancels all tasks of a type with this key; how many. Running ones are asked to stop, uncounted.
   */
  public int cancel(String type, String key) {
    String once = UUID.randomUUID().toString();
    return retried(() -> post("/v1/tasks/cancel", Map.of("type", type, "key", key), once))
        .path("cancelled")
        .asInt();
  }

  /** Makes a schedule, or replaces the one of that name; what the server then shows of it. */
  public JsonNode putSchedule(NewSchedule schedule) {
    return retried(() -> put(path(schedule.name()), schedule.json(mapper)));
  }

  /** The schedule as the server shows it, if there is one. */
  public Optional<JsonNode> schedule(String name) {
    return found(() -> get(path(name)));
  }

  /** Removes a schedule; false if there was none. Tasks that it made stay. */
  public boolean deleteSchedule(String name) {
    AtomicBoolean isUnsure = new AtomicBoolean();
    return found(
            () -> {
              try {
                return delete(path(name));
              } catch (CarillonException e) {
                boolean isGone = e.status() == 404 && isUnsure.get();
                isUnsure.compareAndSet(false, e.isTransient() && e.status() != 429);
                if (isGone) {
                  return MissingNode.getInstance(); // by the call that had no answer
                }
                throw e;
              }
            })
        .isPresent();
  }

  /** Lets a schedule rest. */
  public void pauseSchedule(String name) {
    act(name, "pause");
  }

  /** Lets a schedule go on. */
  public void resumeSchedule(String name) {
    act(name, "resume");
  }

  /** Fires a schedule now, beside its rule; the id of the task that it makes. */
  public UUID triggerSchedule(String name) {
    JsonNode answer = act(name, "trigger");
    return UUID.fromString(answer.path("id").asString());
  }

  private JsonNode act(String schedule, String verb) {
    String once = UUID.randomUUID().toString();
    return retried(() -> post(path(schedule) + "/" + verb, null, once));
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
   * Begins to describe a worker.
   *
   * @param name shown with the tasks that it holds; several processes may share one
   */
  public WorkerBuilder worker(String name) {
    return new WorkerBuilder(this, name);
  }

  /** Reads something. */
  public JsonNode get(String path) {
    return connection.call(connection.request("GET", path, null));
  }

  /** Reads something that is not JSON, such as {@code /metrics}. */
  public String text(String path) {
    return connection.send(connection.request("GET", path, null), "text/plain").body();
  }

  /**
   * Makes or does something.
   *
   * @param body anything that Jackson writes as JSON; null sends none
   */
  public JsonNode post(String path, @Nullable Object body) {
    return connection.call(connection.request("POST", path, body));
  }

  /**
   * Makes or does something at most once, however often it is repeated with the same key and body
   * within a day.
   */
  public JsonNode post(String path, @Nullable Object body, String idempotencyKey) {
    return connection.call(
        connection.request("POST", path, body).header("Idempotency-Key", idempotencyKey));
  }

  JsonNode post(String path, Object body, Duration timeout) {
    return connection.call(connection.request("POST", path, body).timeout(timeout));
  }

  /**
   * Makes many things.
   *
   * @param lines NDJSON: one JSON value a line
   */
  public JsonNode postLines(String path, byte[] lines) {
    return connection.call(
        connection
            .request("POST", path, null)
            .header("Content-Type", "application/x-ndjson")
            .POST(BodyPublishers.ofByteArray(lines)));
  }

  /** Makes or replaces the thing at the path. */
  public JsonNode put(String path, Object body) {
    return connection.call(connection.request("PUT", path, body));
  }

  /**
   * Replaces the thing at the path if it still has this version; the server answers 412 or 404
   * otherwise, and has changed nothing.
   */
  public JsonNode put(String path, Object body, int version) {
    return connection.call(ifMatch(connection.request("PUT", path, body), version));
  }

  /** Changes the given fields of the thing at the path. */
  public JsonNode patch(String path, Object body) {
    return connection.call(connection.request("PATCH", path, body));
  }

  /** Removes the thing at the path. */
  public JsonNode delete(String path) {
    return connection.call(connection.request("DELETE", path, null));
  }

  /**
   * Removes the thing at the path if it still has this version; the server answers 412 or 404
   * otherwise, and has removed nothing.
   */
  public JsonNode delete(String path, int version) {
    return connection.call(ifMatch(connection.request("DELETE", path, null), version));
  }

  private static HttpRequest.Builder ifMatch(HttpRequest.Builder request, int version) {
    return request.header("If-Match", "\"" + version + "\"");
  }

  /**
   * Waits for what {@link #enqueueAsync} has under way and ends the connection, also for those made
   * from it by {@code with}. Close its workers before.
   */
  @Override
  public void close() {
    senders.close();
    connection.close();
  }
}
