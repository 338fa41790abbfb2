package carillon.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.testkit.Latches;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class LoopTest {

  private static final Duration IDLE = Duration.ofMinutes(1);

  @Test
  void a_long_pass_that_reports_progress_is_not_stuck() {
    CountDownLatch first = new CountDownLatch(1);
    CountDownLatch progressed = new CountDownLatch(1);
    CountDownLatch second = new CountDownLatch(1);
    AtomicReference<Runnable> progress = new AtomicReference<>(() -> {});
    Supplier<Duration> pass =
        () -> {
          Latches.await(first);
          progress.get().run();
          progressed.countDown();
          Latches.await(second);
          return IDLE;
        };
    try (Loop loop = new Loop("long", pass, _ -> {})) {
      progress.set(loop::progress);
      loop.start();
      await().until(() -> loop.isStuckFor(Duration.ofSeconds(1)));

      long progressAt = System.nanoTime();
      first.countDown();
      Latches.await(progressed);

      Duration sinceProgress = Duration.ofNanos(System.nanoTime() - progressAt);
      assertThat(loop.isStuckFor(sinceProgress.plusMillis(900))).isFalse();
      second.countDown();
    }
  }

  @Test
  void the_rest_after_a_pass_is_part_of_its_delay() {
    Duration half = Duration.ofMillis(500);
    List<Long> starts = new CopyOnWriteArrayList<>();
    Supplier<Duration> pass =
        () -> {
          starts.add(System.nanoTime());
          return half;
        };
    try (Loop loop = new Loop("resting", pass, half, _ -> {})) {
      loop.start();
      await().until(() -> starts.size() >= 4);
    }

    long shortest =
        IntStream.range(1, 4).mapToLong(i -> starts.get(i) - starts.get(i - 1)).min().orElseThrow();
    assertThat(Duration.ofNanos(shortest)).isLessThan(half.multipliedBy(2));
  }
}
