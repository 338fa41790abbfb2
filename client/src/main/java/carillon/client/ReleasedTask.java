package carillon.client;

/** Thrown by a handler, got by {@link TaskContext#release}: the task is given back untouched. */
final class ReleasedTask extends RuntimeException {

  private static final long serialVersionUID = 1;

  ReleasedTask() {
    super("released by its handler", null, false, false);
  }
}
