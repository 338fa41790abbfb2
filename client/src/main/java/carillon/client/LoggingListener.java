package carillon.client;

import java.lang.System.Logger.Level;

/** Logs failures, without payloads. */
final class LoggingListener implements WorkerListener {

  private static final System.Logger log = System.getLogger(Worker.class.getName());

  @Override
  public void handlerThrew(ClaimedTask task, Throwable what) {
    log.log(what instanceof Error ? Level.ERROR : Level.WARNING, task + " failed", what);
  }

  @Override
  public void stale(ClaimedTask task) {
    log.log(Level.WARNING, task + " was claimed again; its result was dropped");
  }

  @Override
  public void callFailed(Exception why) {
    log.log(Level.WARNING, "call failed, retrying: " + why.getMessage());
  }
}
