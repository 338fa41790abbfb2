package carillon.chaos.load;

import carillon.chaos.cluster.Cluster;
import carillon.chaos.cluster.FlippingName;
import carillon.chaos.cluster.Watched;
import carillon.chaos.history.Fields;
import carillon.chaos.history.Recorder;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/** Everybody who uses the cluster while it is broken: clients, workers that pull, schedules. */
public final class Load implements AutoCloseable {

  /** Of an attempt. */
  public static final Duration TIMEOUT = Duration.ofSeconds(2);

  /** Enough for bad receivers and for nodes that die under it; poison is another matter. */
  public static final int MAX_ATTEMPTS = 8;

  /** Of tasks to names that may mean a forbidden address: half of the flipping ones are refused. */
  static final int NAMED_ATTEMPTS = 2;

  public static final Duration RETRY = Duration.ofMillis(400);

  /** How long to wait for a client or a worker to stop. */
  private static final Duration PATIENCE = Duration.ofSeconds(40);

  /** What a client does next. */
  public enum Action {
    SUBMIT_WEB,
    SUBMIT_PULLED,
    SUBMIT_KEPT,
    SUBMIT_NAMED,
    CANCEL,
    CANCEL_RUNNING,
    GET,
    FOREIGN_GET,
    REDRIVE
  }

  /**
   * How much of what.
   *
   * @param rate actions of all clients together, a second
   * @param weights how often each action is chosen
   * @param workers that pull, for each tenant
   * @param schedules of all tenants together
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
                Action.SUBMIT_KEPT, 8,
                Action.SUBMIT_NAMED, 4,
                Action.CANCEL, 8,
                Action.CANCEL_RUNNING, 4,
                Action.GET, 8,
                Action.FOREIGN_GET, 3,
                Action.REDRIVE, 4),
            1,
            56);

    public Profile with(double newRate, int newSchedules) {
      return new Profile(tenants, clients, newRate, weights, workers, newSchedules);
    }
  }

  private final Cluster cluster;
  private final Receiver receiver;
  private final FlippingName name;
  private final List<Tenant> tenants;
  private final Streams streams;
  private final Profile profile;
  private final List<Thread> clients = new ArrayList<>();
  private final List<Thread> workers = new ArrayList<>();
  private final AtomicLong acknowledged = new AtomicLong();
  private final AtomicLongArray bySecond = new AtomicLongArray(3600);
  private final long start = System.nanoTime();
  private volatile boolean submitting = true;
  private volatile boolean working = true;

  private Load(
      Cluster cluster,
      Receiver receiver,
      FlippingName name,
      List<Tenant> tenants,
      Streams streams,
      Profile profile) {
    this.cluster = cluster;
    this.receiver = receiver;
    this.name = name;
    this.tenants = tenants;
    this.streams = streams;
    this.profile = profile;
  }

  /** Sets up what the load needs, while all is well, and starts it. */
  public static Load start(
      Cluster cluster, Receiver receiver, FlippingName name, Streams streams, Profile profile)
      throws IOException, InterruptedException {
    List<Tenant> tenants =
        Tenants.make(cluster, receiver, name, profile.tenants(), streams.of("tenants"));
    Load load = new Load(cluster, receiver, name, tenants, streams, profile);
    new Schedules(cluster, tenants).put(profile.schedules(), streams.of("schedules"));
    for (int i = 0; i < profile.clients(); i++) {
      Client client = new Client(load, i, tenants.get(i % tenants.size()));
      load.clients.add(Watched.start(load.recorder(), "client-" + i, client::run));
    }
    for (int i = 0; i < profile.workers() * tenants.size(); i++) {
      Worker worker = new Worker(load, tenants.get(i % tenants.size()), "worker-" + i);
      load.workers.add(Watched.start(load.recorder(), "worker-" + i, worker::run));
    }
    return load;
  }

  public static String retry(int maxAttempts) {
    return "{\"maxAttempts\": %d, \"backoff\": \"fixed\", \"base\": \"%dms\", \"max\": \"%dms\","
            .formatted(maxAttempts, RETRY.toMillis(), RETRY.toMillis())
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

  public FlippingName name() {
    return name;
  }

  public List<Tenant> tenants() {
    return tenants;
  }

  Streams streams() {
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
    bySecond.incrementAndGet(tenth(0) % bySecond.length());
  }

  private int tenth(int before) {
    return (int) ((System.nanoTime() - start) / 100_000_000L) - before;
  }

  public long acknowledged() {
    return acknowledged.get();
  }

  /** Submits that were acknowledged within the last second or a bit less. */
  public long acknowledgedLately() {
    long sum = 0;
    for (int i = 0; i < 10 && tenth(i) >= 0; i++) {
      sum += bySecond.get(tenth(i) % bySecond.length());
    }
    return sum;
  }

  /** No new tasks from now on; returns when every client knows what became of its last one. */
  public void stopSubmitting() throws InterruptedException {
    submitting = false;
    for (Thread client : clients) {
      if (!client.join(PATIENCE)) {
        recorder()
            .event(
                "harness",
                Fields.of("thread", client.getName())
                    .and("error", "does not know its last answer"));
      }
    }
  }

  /** Ends the workers too; nobody writes anything down afterwards. */
  @Override
  public void close() {
    submitting = false;
    working = false;
    clients.forEach(Thread::interrupt);
    workers.forEach(Thread::interrupt);
    try {
      for (Thread client : clients) {
        client.join(PATIENCE);
      }
      for (Thread worker : workers) {
        worker.join(PATIENCE);
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }
}
