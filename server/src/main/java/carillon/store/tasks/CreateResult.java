package carillon.store.tasks;

/** What became of a request to create a task. */
public sealed interface CreateResult {

  record Created(TaskView task) implements CreateResult {}

  /** A task of the same type and key is in the way of one that was asked for as unique. */
  record Existing(TaskView task) implements CreateResult {}

  /** The tenant is strict and has no such type. */
  record UnknownType(String type) implements CreateResult {}
}
