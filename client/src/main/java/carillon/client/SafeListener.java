package carillon.client;

import java.time.Duration;

/** Keeps a worker going whatever its listener throws. */
record SafeListener(WorkerListener listener) implements WorkerListener {

  private static final System.Logger log = System.getLogger(Worker.class.getName());

  private static void quietly(Runnable call) {
    try {
      call.run();
    } catch (Throwable e) { // also an Error, which would lose the task
      log.log(System.Logger.Level.WARNING, "the listener of a worker failed", e);
    }
  }

  @Override
  public void claimed(ClaimedTask task) {
    quietly(() -> listener.claimed(task));
  }

  @Override
  public void started(ClaimedTask task) {
    quietly(() -> listener.started(task));
  }

  @Override
  public void ended(ClaimedTask task, Result result, Duration took) {
    quietly(() -> listener.ended(task, result, took));
  }

  @Override
  public void handlerThrew(ClaimedTask task, Throwable what) {
    quietly(() -> listener.handlerThrew(task, what));
  }

  @Override
  public void reported(ClaimedTask task) {
    quietly(() -> listener.reported(task));
  }

  @Override
  public void stale(ClaimedTask task) {
    quietly(() -> listener.stale(task));
  }

  @Override
  public void cancelled(ClaimedTask task) {
    quietly(() -> listener.cancelled(task));
  }

  @Override
  public void callFailed(Exception why) {
    quietly(() -> listener.callFailed(why));
  }
}
