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
 * @param target the target of tasks without their own. Default: pulled by workers.
 * @param retry the retry policy of tasks without their own
 * @param timeout deadline of one attempt. Default 30 s.
 * @param leaseTimeout how long a pull worker holds a task without renewing. Default 30 s.
 * @param priority of tasks that name none. Default 5.
 * @param slices how many lanes a priority is spread over. Default 1.
 * @param signingSecrets newest first; older ones expire after a rotation
 * @param pausedReason why the type is paused, if it was paused automatically
 * @param version rises with every change
 * @param callbacks the callbacks of tasks without their own. Default: none.
 * @param statuses how the status codes of an HTTP target are interpreted
 * @param schema JSON Schema for the payloads, byte for byte as it was given; null means none
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
   * Whether Carillon creates the tasks of this type itself, to deliver callbacks and alerts. They
   * have no callbacks and raise no alerts, because that could go on forever.
   */
  public static boolean isOwn(String name) {
    return name.equals(Callbacks.TYPE) || name.equals(AlertRule.TYPE);
  }
}
