package carillon.client;

/**
 * Thrown by a handler to release the task without counting the attempt. See {@link
 * TaskContext#release}.
 */
final class ReleasedTask extends RuntimeException {

  private static final long serialVersionUID = 1;

  ReleasedTask() {
    super("released by the handler", null, false, false);
  }
}
