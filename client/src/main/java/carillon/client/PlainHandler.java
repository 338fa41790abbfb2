package carillon.client;

import org.jspecify.annotations.Nullable;

/** Handles tasks of one type and reads their payloads itself. */
@FunctionalInterface
public interface PlainHandler {

  /** Handles one attempt, like {@link Handler#handle}. */
  @Nullable Object handle(TaskContext context) throws Exception;
}
