package carillon.chaos.rules;

import carillon.chaos.history.Fields;

/** One task that a worker claimed. */
record WorkerClaim(Op claim, Fields task) {

  String id() {
    return task.need("id");
  }

  long fence() {
    return task.number("fence");
  }
}
