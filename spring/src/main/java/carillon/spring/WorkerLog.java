package carillon.spring;

import carillon.client.ClaimedTask;
import carillon.client.WorkerListener;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

/** Logs failures, without payloads. */
final class WorkerLog implements WorkerListener {

  static final Log log = LogFactory.getLog(CarillonWorker.class);

  @Override
  public void handlerThrew(ClaimedTask task, Throwable what) {
    log.warn(task + " failed", what);
  }

  @Override
  public void stale(ClaimedTask task) {
    log.warn(task + " was claimed by another worker; its result was dropped");
  }

  @Override
  public void callFailed(Exception why) {
    log.warn("call failed, retrying: " + why.getMessage());
  }
}
