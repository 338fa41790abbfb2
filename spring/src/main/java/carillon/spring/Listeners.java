package carillon.spring;

import carillon.client.ClaimedTask;
import carillon.client.WorkerListener;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

/** Notifies several listeners, even if one throws. */
final class Listeners implements WorkerListener {

  private final List<WorkerListener> listeners;

  Listeners(List<WorkerListener> listeners) {
    this.listeners = listeners;
  }

  @Override
  public void claimed(ClaimedTask task) {
    each(listener -> listener.claimed(task));
  }

  @Override
  public void started(ClaimedTask task) {
    each(listener -> listener.started(task));
  }

  @Override
  public void ended(ClaimedTask task, Result result, Duration took) {
    each(listener -> listener.ended(task, result, took));
  }

  @Override
  public void handlerThrew(ClaimedTask task, Throwable what) {
    each(listener -> listener.handlerThrew(task, what));
  }

  @Override
  public void reported(ClaimedTask task) {
    each(listener -> listener.reported(task));
  }

  @Override
  public void stale(ClaimedTask task) {
    each(listener -> listener.stale(task));
  }

  @Override
  public void cancelled(ClaimedTask task) {
    each(listener -> listener.cancelled(task));
  }

  @Override
  public void callFailed(Exception why) {
    each(listener -> listener.callFailed(why));
  }

  private void each(Consumer<WorkerListener> call) {
    for (WorkerListener listener : listeners) {
      try {
        call.accept(listener);
      } catch (Throwable e) { // also an Error, which would lose the task
        WorkerLog.log.warn("worker listener failed", e);
      }
    }
  }
}
