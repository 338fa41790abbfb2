package carillon.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

class CombinerTest {

  /** Records every flush; the first one waits until the test lets it go. */
  private static final class Flushes {
    private final List<List<Integer>> seen = new ArrayList<>();
    private final CountDownLatch begun = new CountDownLatch(1);
    private final CountDownLatch mayGo = new CountDownLatch(1);

    synchronized void add(List<Integer> batch) {
      seen.add(batch);
    }

    void holdFirst(List<Integer> batch) {
      add(batch);
      begun.countDown();
      try {
        mayGo.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  @Test
  void what_comes_while_a_batch_is_written_goes_into_the_next() throws Exception {
    Flushes flushes = new Flushes();
    Combiner<Integer> combiner = new Combiner<>(100, flushes::holdFirst);
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<?>> writes = new ArrayList<>();
      writes.add(threads.submit(() -> combiner.write(0)));
      flushes.begun.await();
      for (int i = 1; i <= 20; i++) {
        int item = i;
        writes.add(threads.submit(() -> combiner.write(item)));
      }
      Awaitility.await().until(() -> combiner.gathered() == 20);
      flushes.mayGo.countDown();
      for (Future<?> write : writes) {
        write.get();
      }
    }

    assertThat(flushes.seen).hasSize(2);
    assertThat(flushes.seen.get(1)).hasSize(20);
  }

  @Test
  void one_bad_item_fails_alone() throws Exception {
    Flushes flushes = new Flushes();
    Combiner<Integer> combiner =
        new Combiner<>(
            100,
            batch -> {
              if (batch.contains(13)) {
                throw new StoreException("13 cannot be written");
              }
              flushes.holdFirst(batch);
            });
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<?> first = threads.submit(() -> combiner.write(0));
      flushes.begun.await();
      Future<?> bad = threads.submit(() -> combiner.write(13));
      Future<?> good = threads.submit(() -> combiner.write(14));
      Awaitility.await().until(() -> combiner.gathered() == 2);
      flushes.mayGo.countDown();

      first.get();
      good.get();
      assertThatThrownBy(bad::get)
          .isInstanceOf(ExecutionException.class)
          .hasRootCauseMessage("13 cannot be written");
    }
  }

  @Test
  void an_error_reaches_everybody_it_concerns_and_nobody_hangs() {
    Combiner<Integer> combiner =
        new Combiner<>(
            100,
            _ -> {
              throw new AssertionError("unforeseen");
            });

    assertThatThrownBy(() -> combiner.write(1)).isInstanceOf(AssertionError.class);
    assertThatThrownBy(() -> combiner.write(2)).isInstanceOf(AssertionError.class);
  }
}
