package carillon.delivery.kafka;

import carillon.model.DeliveryResult;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * What is known of the topics: looked up aside, so that nobody who sends waits for one that is not
 * there.
 */
final class Topics {

  private static final Duration KNOWN = Duration.ofSeconds(60);
  private static final Duration MISSING = Duration.ofSeconds(5);
  private static final Duration FIRST_PAUSE = Duration.ofMillis(500);
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(5);
  private static final int LOOKUPS_AT_ONCE = 16;

  private final Lookup lookup;
  private final LongSupplier nanos;
  private final ConcurrentHashMap<String, Topic> topics = new ConcurrentHashMap<>();
  private final AtomicLong numbers = new AtomicLong();
  private final Semaphore lookups = new Semaphore(LOOKUPS_AT_ONCE);

  /** Asks Kafka whether a topic is there; may take a while. */
  interface Lookup {
    boolean isThere(String topic) throws ExecutionException, InterruptedException, TimeoutException;
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
    Topic asked =
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
    if (asked.lookup() == number) {
      Thread.ofVirtual().name("kafka-topic").start(() -> look(name, number, answer));
    }
    return asked.answer();
  }

  /** Whether it is known to be there. */
  boolean isKnown(String name) {
    Topic topic = topics.get(name);
    return topic != null
        && topic.until() - nanos.getAsLong() > 0
        && topic.answer().isDone()
        && topic.answer().join().isEmpty();
  }

  private void look(String name, long number, CompletableFuture<Optional<DeliveryResult>> answer) {
    Optional<DeliveryResult> found;
    try {
      lookups.acquire();
      try {
        found = lookup.isThere(name) ? Optional.empty() : Optional.of(Results.noSuchTopic());
      } finally {
        lookups.release();
      }
    } catch (ExecutionException e) {
      found = Optional.of(e.getCause() instanceof Exception why ? Results.of(why) : Results.lost());
    } catch (TimeoutException e) {
      found = Optional.of(Results.lost());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      found = Optional.of(Results.lost());
    } catch (RuntimeException e) {
      found = Optional.of(Results.of(e));
    }
    long until = nanos.getAsLong() + (found.isEmpty() ? KNOWN : MISSING).toNanos();
    boolean isKept = found.isEmpty() || !(found.get() instanceof DeliveryResult.Unreached);
    topics.computeIfPresent(
        name,
        (_, old) ->
            old.lookup() != number
                ? old
                : isKept ? new Topic(number, answer, until, old.resting(), old.pause()) : null);
    answer.complete(found);
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
          Duration pause = isRepeated ? old.pause().multipliedBy(2) : FIRST_PAUSE;
          if (pause.compareTo(LONGEST_PAUSE) > 0) {
            pause = LONGEST_PAUSE;
          }
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
