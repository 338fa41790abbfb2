package carillon.delivery.http;

import carillon.model.target.HttpTargetRules;
import carillon.model.target.TargetUrl;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Finds the addresses of a target and vets every one of them.
 *
 * <p>Lookups run on platform threads of their own, because a native lookup blocks for as long as it
 * likes and would take a virtual thread's carrier with it.
 */
final class Resolver implements AutoCloseable {

  /** How long an attempt waits for an answer. */
  static final Duration LIMIT = Duration.ofSeconds(2);

  private static final int THREADS = 32;
  private static final int WAITING = 1_000;

  private final HttpTargetRules rules;
  private final Lookup lookup;
  private final ThreadPoolExecutor threads;

  /** Attempts at the same host share a lookup, so a zone that is silent holds one thread only. */
  private final ConcurrentMap<String, FutureTask<InetAddress[]>> running =
      new ConcurrentHashMap<>();

  /** Asks the system for the addresses of a name. */
  @FunctionalInterface
  interface Lookup {
    InetAddress[] addressesOf(String host) throws UnknownHostException;
  }

  /** What became of a name. */
  sealed interface Resolution {

    /** All of its addresses may be dialled. */
    record Vetted(List<InetAddress> addresses) implements Resolution {}

    /** At least one of its addresses may not be dialled, so none is. */
    record Denied() implements Resolution {}

    record Unknown() implements Resolution {}
  }

  Resolver(HttpTargetRules rules, Lookup lookup) {
    this.rules = rules;
    this.lookup = lookup;
    this.threads =
        new ThreadPoolExecutor(
            THREADS,
            THREADS,
            30,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(WAITING),
            Thread.ofPlatform().daemon().name("delivery-dns-", 0).factory());
    threads.allowCoreThreadTimeOut(true);
  }

  Resolution resolve(TargetUrl url, Duration atMost) throws InterruptedException {
    var literal = url.literal();
    if (literal.isPresent()) {
      return vetted(url, literal.get());
    }
    Duration wait = atMost.compareTo(LIMIT) < 0 ? atMost : LIMIT;
    try {
      var found = running.computeIfAbsent(url.host(), this::start);
      return vetted(url, found.get(wait.toNanos(), TimeUnit.NANOSECONDS));
    } catch (ExecutionException | TimeoutException | RejectedExecutionException e) {
      return new Resolution.Unknown();
    }
  }

  private FutureTask<InetAddress[]> start(String host) {
    var task = new FutureTask<>(() -> lookUp(host));
    threads.execute(task);
    return task;
  }

  private InetAddress[] lookUp(String host) throws UnknownHostException {
    try {
      return lookup.addressesOf(host);
    } finally {
      // Before anybody has the answer: a later attempt must not find it, but ask again.
      running.remove(host);
    }
  }

  private Resolution vetted(TargetUrl url, InetAddress... addresses) {
    if (addresses.length == 0) {
      return new Resolution.Unknown();
    }
    // One denied address denies the name: picking an allowed one would leave the choice of what we
    // dial next time to whoever runs the zone.
    boolean mayAll = List.of(addresses).stream().allMatch(one -> rules.mayDial(url, one));
    return mayAll ? new Resolution.Vetted(List.of(addresses)) : new Resolution.Denied();
  }

  @Override
  public void close() {
    threads.shutdownNow();
  }
}
