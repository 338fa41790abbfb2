package carillon.delivery.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.model.task.DeliveryResult;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class TopicsTest {

  private final AtomicLong now = new AtomicLong();

  @Test
  void many_unknown_topics_share_few_lookups() {
    AtomicInteger lookups = new AtomicInteger();
    CountDownLatch start = new CountDownLatch(1);
    Topics topics =
        new Topics(
            names -> {
              lookups.incrementAndGet();
              start.await();
              return names.stream()
                  .collect(
                      Collectors.toMap(
                          Function.identity(), _ -> Optional.of(Results.noSuchTopic())));
            },
            now::get);

    List<CompletableFuture<Optional<DeliveryResult>>> problems =
        IntStream.range(0, 2_000).mapToObj(i -> topics.problem("t" + i)).toList();
    start.countDown();

    assertThat(problems)
        .allSatisfy(problem -> assertThat(problem.get()).contains(Results.noSuchTopic()));
    assertThat(lookups.get()).isLessThan(200);
  }

  @Test
  void a_failed_lookup_ends_as_lost_and_is_repeated() {
    AtomicInteger lookups = new AtomicInteger();
    Topics topics =
        new Topics(
            _ -> {
              if (lookups.getAndIncrement() == 0) {
                throw new OutOfMemoryError("thrown by the test");
              }
              return Map.of("t", Optional.empty());
            },
            now::get);

    assertThat(topics.problem("t").join()).contains(Results.lost());
    await().until(() -> topics.problem("t").join().isEmpty());
  }

  @Test
  void a_topic_that_does_not_confirm_is_paused_longer_each_time() {
    Topics topics = new Topics(_ -> Map.of("t", Optional.empty()), now::get);
    for (int millis : List.of(500, 1_000, 2_000, 4_000, 5_000, 5_000)) {
      assertThat(topics.problem("t").join()).isEmpty();
      topics.onUnconfirmed("t");
      now.addAndGet(Duration.ofMillis(millis).toNanos() - 1);
      assertThat(topics.isPaused("t")).isTrue();
      now.addAndGet(1);
      assertThat(topics.isPaused("t")).isFalse();
    }
  }
}
