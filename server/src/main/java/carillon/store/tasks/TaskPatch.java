package carillon.store.tasks;

import carillon.model.target.HiddenValues;
import carillon.model.target.Target;
import carillon.model.task.RetryPolicy;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** An edit of a waiting or dead task. Null fields stay unchanged. */
public record TaskPatch(
    @Nullable Instant dueAt,
    @Nullable Integer priority,
    @Nullable String payload,
    @Nullable RetryPolicy retry,
    @Nullable String key,
    @Nullable Target target) {

  /**
   * This patch with the secrets of the task's current target where this target has hidden values.
   *
   * @throws HiddenValues.Unknown if the current target has no such secret
   */
  TaskPatch keeping(@Nullable Target before) {
    return new TaskPatch(
        dueAt, priority, payload, retry, key, HiddenValues.keep("target", target, before));
  }

  /** The names of the changed fields. */
  List<String> fields() {
    List<String> fields = new ArrayList<>();
    add(fields, "dueAt", dueAt);
    add(fields, "priority", priority);
    add(fields, "payload", payload);
    add(fields, "retry", retry);
    add(fields, "key", key);
    add(fields, "target", target);
    return fields;
  }

  private static void add(List<String> fields, String name, @Nullable Object value) {
    if (value != null) {
      fields.add(name);
    }
  }
}
