package carillon.delivery.kafka;

import carillon.delivery.Backoff;
import carillon.model.task.DeliveryResult;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Caches which topics can be written to. Lookups run on threads of their own, so that no sender
 * blocks on a topic that does not exist.
 */
final class Topics {

  private static final Logger log = LoggerFactory.getLogger(Topics.class);
  private static final Duration FOUND_TTL = Duration.ofSeconds(60);
  private static final Duration PROBLEM_TTL = Duration.ofSeconds(5);
  private static final int MAX_LOOKUPS = 16;
  private static final int MAX_TOPICS_PER_LOOKUP = 100;

  private final Lookup lookup;
  private final LongSupplier nanos;
  private final ConcurrentHashMap<String, Topic> topics = new ConcurrentHashMap<>();
  private final AtomicLong numbers = new AtomicLong();
  private final Semaphore lookups = new Semaphore(MAX_LOOKUPS);

  /** Topics that arrive while the maximum of lookups is running share the next one. */
  private final Queue<Request> requests = new ConcurrentLinkedQueue<>();

  private record Request(
      String name, long number, CompletableFuture<Optional<DeliveryResult>> problem) {}

  /** Looks topics up in Kafka; may take a while. */
  interface Lookup {

    /** By topic: empty if it can be written to, else the result of tasks sent to it. */
    Map<String, Optional<DeliveryResult>> of(Set<String> names)
        throws ExecutionException, InterruptedException, TimeoutException;
  }

  /**
   * One topic.
   *
   * @param lookup the number of the lookup that {@code problem} comes from
   * @param problem empty if it can be written to, else the result of tasks sent to it
   * @param until when {@code problem} expires; far in the future while the lookup is running
   * @param pausedUntil until when nothing should be sent, because a message was not confirmed
   * @param pause how long the last such pause was
   */
  private record Topic(
      long lookup,
      CompletableFuture<Optional<DeliveryResult>> problem,
      long until,
      long pausedUntil,
      Duration pause) {}

  Topics(Lookup lookup, LongSupplier nanos) {
    this.lookup = lookup;
    this.nanos = nanos;
  }

  /** Already complete if the topic is known; otherwise completed by a lookup. */
  CompletableFuture<Optional<DeliveryResult>> problem(String name) {
    long now = nanos.getAsLong();
    Topic known = topics.get(name);
    if (known != null && known.until() - now > 0) {
      return known.problem();
    }
    CompletableFuture<Optional<DeliveryResult>> problem = new CompletableFuture<>();
    long number = numbers.incrementAndGet();
    Topic latest =
        topics.compute(
            name,
            (_, old) -> {
              if (old != null && old.until() - now > 0) {
                return old;
              }
              return old == null
                  ? new Topic(number, problem, now + Long.MAX_VALUE / 2, now, Duration.ZERO)
                  : new Topic(
                      number, problem, now + Long.MAX_VALUE / 2, old.pausedUntil(), old.pause());
            });
    if (latest.lookup() == number) {
      requests.add(new Request(name, number, problem));
      Thread.ofVirtual().name("kafka-topics").start(this::lookUp);
    }
    return latest.problem();
  }

  private void lookUp() {
    lookups.acquireUninterruptibly();
    try {
      List<Request> batch = new ArrayList<>();
      for (Request next = requests.poll(); next != null; next = requests.poll()) {
        batch.add(next);
        if (batch.size() == MAX_TOPICS_PER_LOOKUP) {
          break;
        }
      }
      if (!batch.isEmpty()) {
        lookUp(batch);
      }
    } finally {
      lookups.release();
    }
  }

  private void lookUp(List<Request> batch) {
    Map<String, Optional<DeliveryResult>> found = Map.of();
    Optional<DeliveryResult> otherwise = Optional.of(Results.lost());
    try {
      found = lookup.of(batch.stream().map(Request::name).collect(Collectors.toUnmodifiableSet()));
    } catch (ExecutionException e) {
      otherwise =
          Optional.of(e.getCause() instanceof Exception why ? Results.of(why) : Results.lost());
    } catch (TimeoutException _) {
      // Kafka did not respond
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (RuntimeException e) {
      otherwise = Optional.of(Results.of(e));
    } catch (Error e) {
      log.error("topic lookup failed", e);
    } finally {
      for (Request one : batch) { // whatever happened: tasks wait for it
        complete(one, found.getOrDefault(one.name(), otherwise));
      }
    }
  }

  private void complete(Request one, Optional<DeliveryResult> found) {
    long until = nanos.getAsLong() + (found.isEmpty() ? FOUND_TTL : PROBLEM_TTL).toNanos();
    boolean isKept = found.isEmpty() || !(found.get() instanceof DeliveryResult.Unreached);
    topics.computeIfPresent(
        one.name(),
        (_, old) -> {
          if (old.lookup() != one.number()) {
            return old;
          }
          return isKept
              ? new Topic(one.number(), one.problem(), until, old.pausedUntil(), old.pause())
              : null;
        });
    one.problem().complete(found);
  }

  /** Called when a message was not confirmed: pauses the topic, and looks it up again later. */
  void onUnconfirmed(String name) {
    long now = nanos.getAsLong();
    topics.computeIfPresent(
        name,
        (_, old) -> {
          if (old.pausedUntil() - now > 0 || !old.problem().isDone()) {
            return old; // the same failure, already handled
          }
          boolean isRepeated =
              now - old.pausedUntil() < FOUND_TTL.toNanos() && !old.pause().isZero();
          Duration pause = Backoff.after(isRepeated ? old.pause() : Duration.ZERO);
          return new Topic(old.lookup(), old.problem(), now, now + pause.toNanos(), pause);
        });
  }

  /** Whether nothing should be sent to the topic for now. */
  boolean isPaused(String name) {
    Topic topic = topics.get(name);
    return topic != null && topic.pausedUntil() - nanos.getAsLong() > 0;
  }

  /** Forgets topics that were not used lately. */
  void sweep() {
    long now = nanos.getAsLong();
    topics
        .values()
        .removeIf(
            topic -> topic.until() - now < 0 && now - topic.pausedUntil() > FOUND_TTL.toNanos());
  }
}
