package carillon.store.tasks;

/** The result of a request to change one task. */
public sealed interface ChangeResult {

  record Changed(TaskView task) implements ChangeResult {}

  /** The task was already in the requested state, and nothing was written. */
  record Unchanged(TaskView task) implements ChangeResult {}

  /** The task is running, and its cancel is now requested. */
  record Requested(TaskView task) implements ChangeResult {}

  record NotFound() implements ChangeResult {}

  /** The state of the task does not allow the change. */
  record WrongState(TaskView task) implements ChangeResult {}

  /** The caller's version of the task is out of date. */
  record StaleVersion(TaskView task) implements ChangeResult {}
}
