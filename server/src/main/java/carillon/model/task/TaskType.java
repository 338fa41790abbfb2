package carillon.model.task;

import carillon.model.target.SigningSecret;
import carillon.model.target.StatusRules;
import carillon.model.target.Target;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The settings that the tasks of one type share. A type that was never configured has the defaults.
 *
 * @param target where its tasks go unless they say otherwise. Default: pulled by workers.
 * @param retry how its tasks are retried unless they say otherwise
 * @param timeout deadline of one attempt. Default 30 s.
 * @param leaseTimeout how long a worker that pulls holds a task without renewing. Default 30 s.
 * @param priority of tasks that name none. Default 5.
 * @param slices how many lanes a priority is spread over. Default 1.
 * @param signingSecrets newest first; the older ones end by themselves after a rotation
 * @param pausedReason why it is paused, if something other than a person did it
 * @param version rises with every change
 * @param callbacks who is told how its tasks end unless they say otherwise. Default: nobody.
 * @param statuses what the answers of an HTTP target mean. Default: the usual.
 * @param schema JSON Schema that payloads must fit, byte for byte as it was given; null means none
 */
public record TaskType(
    String name,
    Target target,
    RetryPolicy retry,
    Duration timeout,
    Duration leaseTimeout,
    int priority,
    int slices,
    boolean paused,
    @Nullable String pausedReason,
    List<SigningSecret> signingSecrets,
    int version,
    Callbacks callbacks,
    StatusRules statuses,
    @Nullable String schema) {

  public static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(30);
  public static final Duration DEFAULT_LEASE = Duration.ofSeconds(30);
  public static final int DEFAULT_PRIORITY = 5;

  public TaskType {
    signingSecrets = List.copyOf(signingSecrets);
  }

  public static TaskType withDefaults(String name) {
    return new TaskType(
        name,
        new Target.Pull(),
        RetryPolicy.DEFAULT,
        DEFAULT_TIMEOUT,
        DEFAULT_LEASE,
        DEFAULT_PRIORITY,
        1,
        false,
        null,
        List.of(),
        0,
        Callbacks.NONE,
        StatusRules.DEFAULT,
        null);
  }

  /**
   * Whether the tasks of this type are Carillon's own, made to tell of others. Of those nobody is
   * told: it would never end.
   */
  public static boolean isOwn(String name) {
    return name.equals(Callbacks.TYPE) || name.equals(AlertRule.TYPE);
  }
}
