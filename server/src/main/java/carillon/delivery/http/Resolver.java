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
 * Resolves the addresses of a target and vets every one of them.
 *
 * <p>Lookups run on platform threads, because a native lookup may block for long and would pin the
 * carrier of a virtual thread.
 */
final class Resolver implements AutoCloseable {

  static final Duration TIMEOUT = Duration.ofSeconds(2);

  private static final int THREADS = 32;
  private static final int MAX_QUEUED = 1_000;

  private final HttpTargetRules rules;
  private final Lookup lookup;
  private final ThreadPoolExecutor threads;

  /** Attempts at the same host share a lookup, so an unresponsive zone blocks only one thread. */
  private final ConcurrentMap<String, FutureTask<InetAddress[]>> running =
      new ConcurrentHashMap<>();

  /** Resolves a name, normally by the operating system. */
  @FunctionalInterface
  interface Lookup {
    InetAddress[] addressesOf(String host) throws UnknownHostException;
  }

  /** The result of resolving a name. */
  sealed interface Resolution {

    /** Deliveries may connect to all of its addresses. */
    record Vetted(List<InetAddress> addresses) implements Resolution {}

    /** Deliveries may not connect to at least one of its addresses, so they connect to none. */
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
            new LinkedBlockingQueue<>(MAX_QUEUED),
            Thread.ofPlatform().daemon().name("delivery-dns-", 0).factory());
    threads.allowCoreThreadTimeOut(true);
  }

  Resolution resolve(TargetUrl url, Duration atMost) throws InterruptedException {
    var literal = url.literal();
    if (literal.isPresent()) {
      return vetted(url, literal.get());
    }
    Duration wait = atMost.compareTo(TIMEOUT) < 0 ? atMost : TIMEOUT;
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
      // Before the result is published, so that a later attempt starts a new lookup.
      running.remove(host);
    }
  }

  private Resolution vetted(TargetUrl url, InetAddress... addresses) {
    if (addresses.length == 0) {
      return new Resolution.Unknown();
    }
    // One denied address denies the name: picking an allowed one would let the owner of the zone
    // choose what we connect to next time.
    boolean mayAll = List.of(addresses).stream().allMatch(one -> rules.mayDial(url, one));
    return mayAll ? new Resolution.Vetted(List.of(addresses)) : new Resolution.Denied();
  }

  @Override
  public void close() {
    threads.shutdownNow();
  }
}
