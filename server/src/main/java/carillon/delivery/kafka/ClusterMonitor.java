package carillon.delivery.kafka;

import carillon.delivery.Backoff;
import carillon.model.Signal;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Creates the clients of a cluster, probes whether it is reachable, and measures depths. */
final class ClusterMonitor implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(ClusterMonitor.class);
  private static final Duration PERIOD = Duration.ofSeconds(1);

  private final KafkaCluster cluster;
  private final Depths depths;
  private final Thread thread;
  private final Signal ready;
  private final Runnable afterPass;

  /** Kept while the cluster is unreachable: the clients reconnect by themselves. */
  private @Nullable Link opened; // used by the thread, and by close() after the thread has ended

  /** Null while the cluster is unreachable. */
  private volatile @Nullable Link link;

  private volatile @Nullable Link broken;
  private volatile long confirmedAt = System.nanoTime() - PERIOD.toNanos();
  private volatile boolean closed;
  private boolean isProbeDue; // guarded by this
  private boolean isLost; // used by the thread only
  private Duration pause = Duration.ZERO; // used by the thread only

  /**
   * @param ready raised after each successful pass
   * @param afterPass called after each pass, successful or not
   */
  ClusterMonitor(KafkaCluster cluster, Depths depths, Signal ready, Runnable afterPass) {
    this.cluster = cluster;
    this.depths = depths;
    this.ready = ready;
    this.afterPass = afterPass;
    this.thread =
        Thread.ofPlatform()
            .daemon()
            .name("kafka-" + cluster.name().cluster() + "-monitor")
            .unstarted(this::run);
  }

  void start() {
    thread.start();
  }

  /** The clients; null while the cluster is unreachable. */
  @Nullable Link link() {
    return link;
  }

  /** A confirmed message proves that the cluster is up: skips the next probe. */
  void onConfirm() {
    confirmedAt = System.nanoTime();
  }

  /** Called when a message was not confirmed. */
  synchronized void probeNow() {
    isProbeDue = true;
    notifyAll();
  }

  /** Called when the producer of this link can send nothing any more. */
  void replaceProducer(Link failed) {
    broken = failed;
    probeNow();
  }

  private void run() {
    try {
      while (!closed) {
        pause(safePass());
      }
    } catch (InterruptedException _) {
      // closed
    }
  }

  /** Survives every error, even out of memory: without this thread nothing is published. */
  private Duration safePass() throws InterruptedException {
    try {
      return pass();
    } catch (RuntimeException | Error e) {
      log.error("monitor pass failed broker={}", cluster.name(), e);
      return PERIOD;
    }
  }

  /** Returns the pause before the next pass. */
  private Duration pass() throws InterruptedException {
    try {
      Link now = open();
      if (System.nanoTime() - confirmedAt > PERIOD.toNanos()) {
        now.probe();
      }
      reached(now);
      depths.measure(watched -> Depths.lag(now.admin(), watched));
      ready.raise();
      return PERIOD;
    } catch (ExecutionException e) {
      return lost(e.getCause() == null ? e : e.getCause());
    } catch (TimeoutException e) {
      return lost(e);
    } catch (RuntimeException e) { // a client could not be created, or was interrupted
      if (closed) {
        throw new InterruptedException();
      }
      return lost(e);
    } finally {
      afterPass.run();
    }
  }

  private Link open() {
    Link failed = broken;
    if (opened != null && opened.equals(failed)) {
      log.warn("replacing failed Kafka producer broker={}", cluster.name());
      link = null;
      opened.close();
      opened = null;
    }
    broken = null;
    Link now = opened;
    if (now == null) {
      now = Link.open(cluster);
      opened = now;
    }
    return now;
  }

  private void reached(Link now) {
    if (isLost) {
      log.info("broker reachable again broker={}", cluster.name());
    } else if (link == null) {
      log.info("broker reachable broker={}", cluster.name());
    }
    isLost = false;
    pause = Duration.ZERO;
    link = now;
  }

  /** Logs only the first failure of an outage. */
  private Duration lost(Throwable why) {
    if (!isLost) {
      log.warn("broker unreachable broker={} error={}", cluster.name(), why.toString());
    }
    isLost = true;
    link = null;
    pause = Backoff.after(pause);
    return pause;
  }

  private synchronized void pause(Duration time) throws InterruptedException {
    long until = System.nanoTime() + time.toNanos();
    while (!closed && !(isProbeDue && link != null)) {
      long left = until - System.nanoTime();
      if (left <= 0) {
        break;
      }
      wait(Math.max(1, left / 1_000_000));
    }
    if (isProbeDue) {
      confirmedAt = System.nanoTime() - PERIOD.toNanos();
    }
    isProbeDue = false;
  }

  @Override
  public void close() {
    closed = true;
    thread.interrupt();
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    link = null;
    if (opened != null) {
      opened.close();
    }
  }
}
