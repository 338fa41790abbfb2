package carillon.store.tasks;

/** What became of a request to change one task. */
public sealed interface ChangeResult {

  record Changed(TaskView task) implements ChangeResult {}

  /** It was so already; nothing was written. */
  record Unchanged(TaskView task) implements ChangeResult {}

  /** It runs; that it ends is now asked for. */
  record Requested(TaskView task) implements ChangeResult {}

  record NotFound() implements ChangeResult {}

  /** The task is not in a state that allows it. */
  record WrongState(TaskView task) implements ChangeResult {}

  /** The caller acted on an older version of the task. */
  record StaleVersion(TaskView task) implements ChangeResult {}
}
