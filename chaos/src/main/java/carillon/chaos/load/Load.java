package carillon.chaos.load;

import carillon.chaos.cluster.Cluster;
import carillon.chaos.cluster.HarnessThread;
import carillon.chaos.cluster.RebindingHost;
import carillon.chaos.history.Fields;
import carillon.chaos.history.Recorder;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/** The traffic on the cluster during a run: clients, pull workers and schedules. */
public final class Load implements AutoCloseable {

  /** Timeout of an attempt. */
  public static final Duration ATTEMPT_TIMEOUT = Duration.ofSeconds(2);

  /** Enough for failing receivers and crashing nodes; poison tasks die earlier. */
  public static final int MAX_ATTEMPTS = 8;

  /**
   * Attempts of tasks to names that may resolve to the forbidden address. About half of those to
   * the changing name are refused.
   */
  static final int NAMED_ATTEMPTS = 2;

  public static final Duration RETRY_DELAY = Duration.ofMillis(400);

  /** How long to wait for a client or worker to stop. */
  private static final Duration STOP_TIMEOUT = Duration.ofSeconds(40);

  /** An action of a client. */
  public enum Action {
    SUBMIT_WEB,
    SUBMIT_PULLED,
    SUBMIT_DISCARDED,
    SUBMIT_FORBIDDEN,
    CANCEL,
    CANCEL_RUNNING,
    GET,
    FOREIGN_GET,
    REDRIVE,
    EDIT
  }

  /**
   * The composition of the load.
   *
   * @param rate actions per second, of all clients together
   * @param weights relative frequencies of the actions
   * @param workers pull workers per tenant
   * @param schedules schedules of all tenants together
   */
  public record Profile(
      int tenants,
      int clients,
      double rate,
      Map<Action, Integer> weights,
      int workers,
      int schedules) {

    public static final Profile USUAL =
        new Profile(
            3,
            48,
            150,
            Map.of(
                Action.SUBMIT_WEB, 55,
                Action.SUBMIT_PULLED, 10,
                Action.SUBMIT_DISCARDED, 8,
                Action.SUBMIT_FORBIDDEN, 4,
                Action.CANCEL, 8,
                Action.CANCEL_RUNNING, 4,
                Action.GET, 8,
                Action.FOREIGN_GET, 3,
                Action.REDRIVE, 4,
                Action.EDIT, 8),
            1,
            56);

    public Profile with(double newRate, int newSchedules) {
      return new Profile(tenants, clients, newRate, weights, workers, newSchedules);
    }
  }

  private final Cluster cluster;
  private final Receiver receiver;
  private final RebindingHost rebindingHost;
  private final List<Tenant> tenants;
  private final RandomStreams streams;
  private final Profile profile;
  private final List<Thread> clients = new ArrayList<>();
  private final List<Thread> workers = new ArrayList<>();
  private final AtomicLong acknowledged = new AtomicLong();
  private final AtomicLongArray perTenth = new AtomicLongArray(3600);
  private final long start = System.nanoTime();
  private volatile boolean submitting = true;
  private volatile boolean working = true;

  private Load(
      Cluster cluster,
      Receiver receiver,
      RebindingHost rebindingHost,
      List<Tenant> tenants,
      RandomStreams streams,
      Profile profile) {
    this.cluster = cluster;
    this.receiver = receiver;
    this.rebindingHost = rebindingHost;
    this.tenants = tenants;
    this.streams = streams;
    this.profile = profile;
  }

  /**
   * Creates tenants, types and schedules while nothing is broken, and starts clients and workers.
   */
  public static Load start(
      Cluster cluster,
      Receiver receiver,
      RebindingHost rebindingHost,
      RandomStreams streams,
      Profile profile)
      throws IOException, InterruptedException {
    List<Tenant> tenants =
        Tenants.create(cluster, receiver, rebindingHost, profile.tenants(), streams.of("tenants"));
    Load load = new Load(cluster, receiver, rebindingHost, tenants, streams, profile);
    new Schedules(cluster, tenants).put(profile.schedules(), streams.of("schedules"));
    for (int i = 0; i < profile.clients(); i++) {
      Client client = new Client(load, i, tenants.get(i % tenants.size()));
      load.clients.add(HarnessThread.start(load.recorder(), "client-" + i, client::run));
    }
    for (int i = 0; i < profile.workers() * tenants.size(); i++) {
      Worker worker = new Worker(load, tenants.get(i % tenants.size()), "worker-" + i);
      load.workers.add(HarnessThread.start(load.recorder(), "worker-" + i, worker::run));
    }
    return load;
  }

  public static String retry(int maxAttempts) {
    return "{\"maxAttempts\": %d, \"backoff\": \"fixed\", \"base\": \"%dms\", \"max\": \"%dms\","
            .formatted(maxAttempts, RETRY_DELAY.toMillis(), RETRY_DELAY.toMillis())
        + " \"jitter\": \"none\"}";
  }

  Cluster cluster() {
    return cluster;
  }

  Recorder recorder() {
    return cluster.recorder();
  }

  Receiver receiver() {
    return receiver;
  }

  public RebindingHost rebindingHost() {
    return rebindingHost;
  }

  public List<Tenant> tenants() {
    return tenants;
  }

  RandomStreams streams() {
    return streams;
  }

  Profile profile() {
    return profile;
  }

  boolean isSubmitting() {
    return submitting;
  }

  boolean isWorking() {
    return working;
  }

  void acknowledge() {
    acknowledged.incrementAndGet();
    perTenth.incrementAndGet(tenth(0) % perTenth.length());
  }

  private int tenth(int before) {
    return (int) ((System.nanoTime() - start) / 100_000_000L) - before;
  }

  public long acknowledged() {
    return acknowledged.get();
  }

  /** Submits that were acknowledged within about the last second. */
  public long acknowledgedLately() {
    long sum = 0;
    for (int i = 0; i < 10 && tenth(i) >= 0; i++) {
      sum += perTenth.get(tenth(i) % perTenth.length());
    }
    return sum;
  }

  /** Stops new submits, and returns when every client knows the outcome of its last one. */
  public void stopSubmitting() throws InterruptedException {
    submitting = false;
    for (Thread client : clients) {
      if (!client.join(STOP_TIMEOUT)) {
        recorder()
            .event(
                "harness",
                Fields.of("thread", client.getName())
                    .and("error", "the outcome of its last submit is still unknown"));
      }
    }
  }

  /** Stops the workers too; nothing is recorded afterwards. */
  @Override
  public void close() {
    submitting = false;
    working = false;
    clients.forEach(Thread::interrupt);
    workers.forEach(Thread::interrupt);
    try {
      for (Thread client : clients) {
        client.join(STOP_TIMEOUT);
      }
      for (Thread worker : workers) {
        worker.join(STOP_TIMEOUT);
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }
}
