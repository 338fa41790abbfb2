package carillon.client;

import java.time.Duration;

/** Protects a worker from exceptions of its listener. */
record SafeListener(WorkerListener listener) implements WorkerListener {

  private static final System.Logger log = System.getLogger(Worker.class.getName());

  private static void safely(Runnable call) {
    try {
      call.run();
    } catch (Throwable e) { // also an Error, which would lose the task
      log.log(System.Logger.Level.WARNING, "worker listener failed", e);
    }
  }

  @Override
  public void claimed(ClaimedTask task) {
    safely(() -> listener.claimed(task));
  }

  @Override
  public void started(ClaimedTask task) {
    safely(() -> listener.started(task));
  }

  @Override
  public void ended(ClaimedTask task, Result result, Duration took) {
    safely(() -> listener.ended(task, result, took));
  }

  @Override
  public void handlerThrew(ClaimedTask task, Throwable what) {
    safely(() -> listener.handlerThrew(task, what));
  }

  @Override
  public void reported(ClaimedTask task) {
    safely(() -> listener.reported(task));
  }

  @Override
  public void stale(ClaimedTask task) {
    safely(() -> listener.stale(task));
  }

  @Override
  public void cancelled(ClaimedTask task) {
    safely(() -> listener.cancelled(task));
  }

  @Override
  public void callFailed(Exception why) {
    safely(() -> listener.callFailed(why));
  }
}
