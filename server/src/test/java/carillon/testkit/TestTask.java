package carillon.testkit;

import carillon.model.target.Target;
import carillon.model.task.Callbacks;
import carillon.model.task.NewTask;
import carillon.model.task.RetryPolicy;
import carillon.model.task.TaskSpec;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Builds a new task: a test sets only the fields that matter to it. */
public final class TestTask {

  private final String type;
  private @Nullable String key;
  private @Nullable Instant dueAt;
  private @Nullable Duration delay;
  private @Nullable Integer priority;
  private @Nullable String payload;
  private @Nullable Target target;
  private @Nullable RetryPolicy retry;
  private @Nullable Instant expiresAt;
  private @Nullable Duration ttl;
  private @Nullable String concurrencyKey;
  private @Nullable Duration uniqueFor;
  private Map<String, String> metadata = Map.of();
  private Callbacks callbacks = Callbacks.NONE;

  private TestTask(String type) {
    this.type = type;
  }

  public static TestTask of(String type) {
    return new TestTask(type);
  }

  public TestTask key(@Nullable String key) {
    this.key = key;
    return this;
  }

  public TestTask dueAt(@Nullable Instant dueAt) {
    this.dueAt = dueAt;
    return this;
  }

  public TestTask delay(Duration delay) {
    this.delay = delay;
    return this;
  }

  public TestTask priority(int priority) {
    this.priority = priority;
    return this;
  }

  public TestTask payload(@Nullable String payload) {
    this.payload = payload;
    return this;
  }

  public TestTask target(@Nullable Target target) {
    this.target = target;
    return this;
  }

  public TestTask retry(RetryPolicy retry) {
    this.retry = retry;
    return this;
  }

  public TestTask expiresAt(Instant expiresAt) {
    this.expiresAt = expiresAt;
    return this;
  }

  public TestTask ttl(@Nullable Duration ttl) {
    this.ttl = ttl;
    return this;
  }

  public TestTask concurrencyKey(@Nullable String concurrencyKey) {
    this.concurrencyKey = concurrencyKey;
    return this;
  }

  public TestTask uniqueFor(@Nullable Duration uniqueFor) {
    this.uniqueFor = uniqueFor;
    return this;
  }

  public TestTask metadata(Map<String, String> metadata) {
    this.metadata = metadata;
    return this;
  }

  public TestTask callbacks(Callbacks callbacks) {
    this.callbacks = callbacks;
    return this;
  }

  public NewTask build() {
    TaskSpec spec =
        new TaskSpec(type, key, concurrencyKey, payload, target, retry, metadata, callbacks);
    return new NewTask(spec, priority, dueAt, delay, expiresAt, ttl, uniqueFor);
  }
}
