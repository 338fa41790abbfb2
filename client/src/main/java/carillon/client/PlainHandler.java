package carillon.client;

import org.jspecify.annotations.Nullable;

/** Does the work of tasks of one type, and looks at their payloads by itself. */
@FunctionalInterface
public interface PlainHandler {

  /** Works on one attempt, like {@link Handler#handle}. */
  @Nullable Object handle(TaskContext context) throws Exception;
}
