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
 * What is known of the topics: looked up aside, so that nobody who sends waits for one that is not
 * there.
 */
final class Topics {

  private static final Logger log = LoggerFactory.getLogger(Topics.class);
  private static final Duration KNOWN = Duration.ofSeconds(60);
  private static final Duration MISSING = Duration.ofSeconds(5);
  private static final int LOOKUPS_AT_ONCE = 16;
  private static final int TOPICS_OF_A_LOOKUP = 100;

  private final Lookup lookup;
  private final LongSupplier nanos;
  private final ConcurrentHashMap<String, Topic> topics = new ConcurrentHashMap<>();
  private final AtomicLong numbers = new AtomicLong();
  private final Semaphore lookups = new Semaphore(LOOKUPS_AT_ONCE);

  /** To be looked up; those that come while many lookups are under way share the next. */
  private final Queue<Asked> asked = new ConcurrentLinkedQueue<>();

  private record Asked(
      String name, long number, CompletableFuture<Optional<DeliveryResult>> answer) {}

  /** Asks Kafka about topics; may take a while. */
  interface Lookup {

    /** For each of them empty if it can be written to, else what becomes of its tasks. */
    Map<String, Optional<DeliveryResult>> of(Set<String> names)
        throws ExecutionException, InterruptedException, TimeoutException;
  }

  /**
   * One topic.
   *
   * @param lookup which of all lookups is its answer
   * @param answer empty if it can be written to, else what becomes of its tasks
   * @param until when the answer is too old; it has not come yet while this is {@code MAX_VALUE}
   * @param resting until when nothing should be sent, because what was sent was not confirmed
   * @param pause how long the last such rest was
   */
  private record Topic(
      long lookup,
      CompletableFuture<Optional<DeliveryResult>> answer,
      long until,
      long resting,
      Duration pause) {}

  Topics(Lookup lookup, LongSupplier nanos) {
    this.lookup = lookup;
    this.nanos = nanos;
  }

  /** Done at once if it is known; else a lookup is under way. */
  CompletableFuture<Optional<DeliveryResult>> answer(String name) {
    long now = nanos.getAsLong();
    Topic known = topics.get(name);
    if (known != null && known.until() - now > 0) {
      return known.answer();
    }
    CompletableFuture<Optional<DeliveryResult>> answer = new CompletableFuture<>();
    long number = numbers.incrementAndGet();
    Topic latest =
        topics.compute(
            name,
            (_, old) -> {
              if (old != null && old.until() - now > 0) {
                return old;
              }
              return old == null
                  ? new Topic(number, answer, now + Long.MAX_VALUE / 2, now, Duration.ZERO)
                  : new Topic(number, answer, now + Long.MAX_VALUE / 2, old.resting(), old.pause());
            });
    if (latest.lookup() == number) {
      asked.add(new Asked(name, number, answer));
      Thread.ofVirtual().name("kafka-topics").start(this::lookUp);
    }
    return latest.answer();
  }

  private void lookUp() {
    lookups.acquireUninterruptibly();
    try {
      List<Asked> some = new ArrayList<>();
      for (Asked one = asked.poll(); one != null; one = asked.poll()) {
        some.add(one);
        if (some.size() == TOPICS_OF_A_LOOKUP) {
          break;
        }
      }
      if (!some.isEmpty()) {
        answer(some);
      }
    } finally {
      lookups.release();
    }
  }

  private void answer(List<Asked> some) {
    Map<String, Optional<DeliveryResult>> found = Map.of();
    Optional<DeliveryResult> otherwise = Optional.of(Results.lost());
    try {
      found = lookup.of(some.stream().map(Asked::name).collect(Collectors.toUnmodifiableSet()));
    } catch (ExecutionException e) {
      otherwise =
          Optional.of(e.getCause() instanceof Exception why ? Results.of(why) : Results.lost());
    } catch (TimeoutException _) {
      // nobody answered
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (RuntimeException e) {
      otherwise = Optional.of(Results.of(e));
    } catch (Error e) {
      log.error("topics could not be looked up", e);
    } finally {
      for (Asked one : some) { // whatever happened: tasks wait for it
        answered(one, found.getOrDefault(one.name(), otherwise));
      }
    }
  }

  private void answered(Asked one, Optional<DeliveryResult> found) {
    long until = nanos.getAsLong() + (found.isEmpty() ? KNOWN : MISSING).toNanos();
    boolean isKept = found.isEmpty() || !(found.get() instanceof DeliveryResult.Unreached);
    topics.computeIfPresent(
        one.name(),
        (_, old) -> {
          if (old.lookup() != one.number()) {
            return old;
          }
          return isKept
              ? new Topic(one.number(), one.answer(), until, old.resting(), old.pause())
              : null;
        });
    one.answer().complete(found);
  }

  /** What was sent there was not confirmed: looked up again, and left alone for a while. */
  void doubt(String name) {
    long now = nanos.getAsLong();
    topics.computeIfPresent(
        name,
        (_, old) -> {
          if (old.resting() - now > 0 || !old.answer().isDone()) {
            return old; // of the same mishap
          }
          boolean isRepeated = now - old.resting() < KNOWN.toNanos() && !old.pause().isZero();
          Duration pause = Backoff.after(isRepeated ? old.pause() : Duration.ZERO);
          return new Topic(old.lookup(), old.answer(), now, now + pause.toNanos(), pause);
        });
  }

  /** Whether nothing should be sent there for the moment. */
  boolean isResting(String name) {
    Topic topic = topics.get(name);
    return topic != null && topic.resting() - nanos.getAsLong() > 0;
  }

  /** Lets go of what nobody has asked for lately. */
  void sweep() {
    long now = nanos.getAsLong();
    topics
        .values()
        .removeIf(topic -> topic.until() - now < 0 && now - topic.resting() > KNOWN.toNanos());
  }
}
