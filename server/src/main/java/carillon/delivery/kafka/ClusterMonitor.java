package carillon.delivery.kafka;

import carillon.delivery.Backoff;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Knows whether a cluster answers: makes the clients, asks again and again, measures depths. */
final class ClusterMonitor implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(ClusterMonitor.class);
  private static final Duration PERIOD = Duration.ofSeconds(1);

  private final KafkaCluster cluster;
  private final Depths depths;
  private final Thread thread;
  private final List<Runnable> whenReady = new CopyOnWriteArrayList<>();
  private volatile Runnable whenPassed = () -> {};

  /** The clients, also while nobody answers: they find a broker that is back by themselves. */
  private @Nullable Link opened; // of the thread, and of who closes once that has ended

  /** The same while somebody answers. */
  private volatile @Nullable Link link;

  private volatile @Nullable Link broken;
  private volatile long heardAt = System.nanoTime() - PERIOD.toNanos();
  private volatile boolean closed;
  private boolean doubted; // guarded by this
  private boolean isLost; // of the thread
  private Duration pause = Duration.ZERO; // of the thread

  ClusterMonitor(KafkaCluster cluster, Depths depths) {
    this.cluster = cluster;
    this.depths = depths;
    this.thread =
        Thread.ofPlatform()
            .daemon()
            .name("kafka-" + cluster.name().cluster() + "-watch")
            .unstarted(this::run);
  }

  void start() {
    thread.start();
  }

  /** What to send and to ask with; null while nobody answers. */
  @Nullable Link link() {
    return link;
  }

  /** Somebody has confirmed something, so nobody needs to be asked. */
  void heard() {
    heardAt = System.nanoTime();
  }

  /** Something was not confirmed: asks now. */
  synchronized void doubt() {
    doubted = true;
    notifyAll();
  }

  /** A producer that cannot send any more is replaced by another one. */
  void replace(Link spent) {
    broken = spent;
    doubt();
  }

  void whenReady(Runnable action) {
    whenReady.add(action);
  }

  void ready() {
    whenReady.forEach(Runnable::run);
  }

  void whenPassed(Runnable action) {
    this.whenPassed = action;
  }

  private void run() {
    try {
      while (!closed) {
        pass(safeLook());
      }
    } catch (InterruptedException _) {
      // closed
    }
  }

  /** Whatever happens, also out of memory: without this thread nothing is published any more. */
  private Duration safeLook() throws InterruptedException {
    try {
      return look();
    } catch (RuntimeException | Error e) {
      log.error("broker={} could not be looked at", cluster.name(), e);
      return PERIOD;
    }
  }

  /** Returns how long to wait for the next look. */
  private Duration look() throws InterruptedException {
    try {
      Link now = open();
      if (System.nanoTime() - heardAt > PERIOD.toNanos()) {
        now.probe();
      }
      found(now);
      depths.measure(watched -> Depths.lag(now.admin(), watched));
      ready();
      return PERIOD;
    } catch (ExecutionException e) {
      return lost(e.getCause() == null ? e : e.getCause());
    } catch (TimeoutException e) {
      return lost(e);
    } catch (RuntimeException e) { // the clients could not be made, or one was interrupted
      if (closed) {
        throw new InterruptedException();
      }
      return lost(e);
    } finally {
      whenPassed.run();
    }
  }

  private Link open() {
    Link spent = broken;
    if (opened != null && opened.equals(spent)) {
      log.warn("broker={} the producer is of no use any more and is replaced", cluster.name());
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

  private void found(Link now) {
    if (isLost) {
      log.info("broker={} answers again", cluster.name());
    } else if (link == null) {
      log.info("broker={} answers", cluster.name());
    }
    isLost = false;
    pause = Duration.ZERO;
    link = now;
  }

  /** Said once: it is asked for again and again. */
  private Duration lost(Throwable why) {
    if (!isLost) {
      log.warn("broker={} does not answer error={}", cluster.name(), why.toString());
    }
    isLost = true;
    link = null;
    pause = Backoff.after(pause);
    return pause;
  }

  private synchronized void pass(Duration time) throws InterruptedException {
    long until = System.nanoTime() + time.toNanos();
    while (!closed && !(doubted && link != null)) {
      long left = until - System.nanoTime();
      if (left <= 0) {
        break;
      }
      wait(Math.max(1, left / 1_000_000));
    }
    if (doubted) {
      heardAt = System.nanoTime() - PERIOD.toNanos();
    }
    doubted = false;
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
