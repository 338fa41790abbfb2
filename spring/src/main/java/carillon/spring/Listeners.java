package carillon.spring;

import carillon.client.ClaimedTask;
import carillon.client.WorkerListener;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

/** Tells several listeners; one that throws keeps nothing from the others. */
final class Listeners implements WorkerListener {

  private final List<WorkerListener> listeners;

  Listeners(List<WorkerListener> listeners) {
    this.listeners = listeners;
  }

  @Override
  public void claimed(ClaimedTask task) {
    tell(listener -> listener.claimed(task));
  }

  @Override
  public void started(ClaimedTask task) {
    tell(listener -> listener.started(task));
  }

  @Override
  public void ended(ClaimedTask task, Result result, Duration took) {
    tell(listener -> listener.ended(task, result, took));
  }

  @Override
  public void handlerThrew(ClaimedTask task, Throwable what) {
    tell(listener -> listener.handlerThrew(task, what));
  }

  @Override
  public void reported(ClaimedTask task) {
    tell(listener -> listener.reported(task));
  }

  @Override
  public void stale(ClaimedTask task) {
    tell(listener -> listener.stale(task));
  }

  @Override
  public void cancelled(ClaimedTask task) {
    tell(listener -> listener.cancelled(task));
  }

  @Override
  public void callFailed(Exception why) {
    tell(listener -> listener.callFailed(why));
  }

  private void tell(Consumer<WorkerListener> what) {
    for (WorkerListener listener : listeners) {
      try {
        what.accept(listener);
      } catch (Throwable e) { // also an Error, which would lose the task
        WorkerLog.log.warn("a listener of the worker threw", e);
      }
    }
  }
}
