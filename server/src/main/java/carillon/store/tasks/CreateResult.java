package carillon.store.tasks;

/** The result of a request to create a task. */
public sealed interface CreateResult {

  record Created(TaskView task) implements CreateResult {}

  /** The request was for a unique task, and one with the same type and key exists. */
  record Existing(TaskView task) implements CreateResult {}

  /** The tenant is strict and does not have this type. */
  record UnknownType(String type) implements CreateResult {}
}
