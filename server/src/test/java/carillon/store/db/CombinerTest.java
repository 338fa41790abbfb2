package carillon.store.db;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

class CombinerTest {

  /** Records every flush; the first one waits until the test releases it. */
  private static final class Flushes {
    private final List<List<Integer>> seen = new ArrayList<>();
    private final List<Thread> writers = new ArrayList<>();
    private final CountDownLatch begun = new CountDownLatch(1);
    private final CountDownLatch mayGo = new CountDownLatch(1);

    synchronized void add(List<Integer> batch) {
      seen.add(batch);
      writers.add(Thread.currentThread());
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
  void items_added_during_a_flush_go_into_the_next_batch() throws Exception {
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
  void an_error_reaches_every_caller_of_its_batch_and_nobody_hangs() {
    Combiner<Integer> combiner =
        new Combiner<>(
            100,
            _ -> {
              throw new AssertionError("unforeseen");
            });

    assertThatThrownBy(() -> combiner.write(1)).isInstanceOf(AssertionError.class);
    assertThatThrownBy(() -> combiner.write(2)).isInstanceOf(AssertionError.class);
  }

  @Test
  void the_first_waiting_caller_writes_next_and_batches_keep_the_order() throws Exception {
    Flushes flushes = new Flushes();
    Combiner<Integer> combiner = new Combiner<>(3, flushes::holdFirst);
    List<Thread> callers = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      int item = i;
      callers.add(Thread.startVirtualThread(() -> combiner.write(item)));
      flushes.begun.await();
      Awaitility.await().until(() -> combiner.gathered() == item);
    }
    flushes.mayGo.countDown();
    for (Thread caller : callers) {
      caller.join();
    }

    assertThat(flushes.seen)
        .containsExactly(List.of(0), List.of(1, 2, 3), List.of(4, 5, 6), List.of(7));
    assertThat(flushes.writers)
        .containsExactly(callers.get(0), callers.get(1), callers.get(4), callers.get(7));
  }

  @Test
  void an_interrupted_writer_leaves_no_caller_waiting() throws Exception {
    Flushes flushes = new Flushes();
    Combiner<Integer> combiner = new Combiner<>(100, flushes::holdFirst);
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<?> writer = threads.submit(() -> combiner.write(0));
      flushes.begun.await();
      Future<?> next = threads.submit(() -> combiner.write(1));
      Awaitility.await().until(() -> combiner.gathered() == 1);
      flushes.writers.getFirst().interrupt();

      assertThatThrownBy(writer::get).hasRootCauseInstanceOf(InterruptedException.class);
      flushes.mayGo.countDown();
      next.get();
    }
    assertThat(flushes.seen).containsExactly(List.of(0), List.of(1));
  }

  @Test
  void an_interrupted_callers_item_is_written_and_the_caller_stays_interrupted() throws Exception {
    Flushes flushes = new Flushes();
    Combiner<Integer> combiner = new Combiner<>(100, flushes::holdFirst);
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<?> writer = threads.submit(() -> combiner.write(0));
      flushes.begun.await();
      CompletableFuture<Boolean> isInterrupted = new CompletableFuture<>();
      Thread waiter =
          Thread.startVirtualThread(
              () -> {
                combiner.write(1);
                isInterrupted.complete(Thread.currentThread().isInterrupted());
              });
      Awaitility.await().until(() -> combiner.gathered() == 1);
      waiter.interrupt();
      flushes.mayGo.countDown();

      writer.get();
      assertThat(isInterrupted.get()).isTrue();
    }
    assertThat(flushes.seen).containsExactly(List.of(0), List.of(1));
  }

  @Test
  void in_a_race_every_item_is_written_once_or_rejected_and_nobody_hangs() throws Exception {
    int callers = 64;
    int each = 500;
    Set<Integer> written = ConcurrentHashMap.newKeySet();
    AtomicInteger atOnce = new AtomicInteger();
    Combiner<Integer> combiner =
        new Combiner<>(
            20,
            batch -> {
              assertThat(atOnce.incrementAndGet()).isEqualTo(1);
              try {
                if (batch.stream().anyMatch(CombinerTest::isBad)) {
                  throw new StoreException("one of them cannot be written");
                }
                batch.forEach(item -> assertThat(written.add(item)).isTrue());
              } finally {
                atOnce.decrementAndGet();
              }
            });
    Set<Integer> refused = ConcurrentHashMap.newKeySet();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<?>> all = new ArrayList<>();
      for (int caller = 0; caller < callers; caller++) {
        int first = caller * each;
        all.add(
            threads.submit(
                () -> {
                  for (int item = first; item < first + each; item++) {
                    try {
                      combiner.write(item);
                      assertThat(written.contains(item)).isTrue();
                    } catch (StoreException e) {
                      refused.add(item);
                    }
                  }
                }));
      }
      for (Future<?> one : all) {
        one.get(30, TimeUnit.SECONDS);
      }
    }

    assertThat(refused).allMatch(CombinerTest::isBad);
    assertThat(written).noneMatch(CombinerTest::isBad);
    assertThat(written.size() + refused.size()).isEqualTo(callers * each);
  }

  private static boolean isBad(int item) {
    return item % 97 == 0;
  }

  @Test
  void with_an_unreachable_database_waiting_callers_fail_and_later_ones_at_once() throws Exception {
    Flushes flushes = new Flushes();
    StoreException unreachable = new StoreException("unreachable", "08006", null);
    Combiner<Integer> combiner =
        new Combiner<>(
            100,
            batch -> {
              flushes.holdFirst(batch);
              throw unreachable;
            },
            Duration.ofMillis(100));
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<?> first = threads.submit(() -> combiner.write(0));
      flushes.begun.await();
      Future<?> waiting = threads.submit(() -> combiner.write(1));
      Awaitility.await().until(() -> combiner.gathered() == 1);
      Awaitility.await()
          .untilAsserted(
              () ->
                  assertThatThrownBy(() -> threads.submit(() -> combiner.write(2)).get(1, SECONDS))
                      .hasRootCauseMessage("the database has not responded for a while"));
      flushes.mayGo.countDown();

      assertThatThrownBy(first::get).hasRootCause(unreachable);
      assertThatThrownBy(waiting::get).hasRootCause(unreachable);
      assertThat(flushes.seen)
          .as("flushes, none for the waiting callers")
          .containsExactly(List.of(0));
      assertThatThrownBy(() -> combiner.write(3)).as("the next tries again").isSameAs(unreachable);
    }
  }

  @Test
  void the_patience_is_with_each_flush_and_not_with_all_that_follow_a_bad_item() throws Exception {
    Flushes flushes = new Flushes();
    Duration flushTimeout = Duration.ofSeconds(1);
    CompletableFuture<Void> newcomer = new CompletableFuture<>();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      AtomicReference<Combiner<Integer>> itself = new AtomicReference<>();
      Combiner<Integer> combiner =
          new Combiner<>(
              100,
              batch -> {
                if (batch.size() > 1) {
                  awaitRefusal(itself.get());
                  throw new StoreException("one of them cannot be written");
                }
                if (batch.contains(2)) {
                  Future<?> _ = threads.submit(() -> complete(newcomer, itself.get()));
                  Awaitility.await().until(() -> itself.get().gathered() == 1 || newcomer.isDone());
                }
                flushes.holdFirst(batch);
              },
              flushTimeout);
      itself.set(combiner);
      Future<?> _ = threads.submit(() -> combiner.write(0));
      flushes.begun.await();
      Future<?> _ = threads.submit(() -> combiner.write(1));
      Awaitility.await().until(() -> combiner.gathered() == 1);
      Future<?> _ = threads.submit(() -> combiner.write(2));
      Awaitility.await().until(() -> combiner.gathered() == 2);
      flushes.mayGo.countDown();

      newcomer.get(10, SECONDS);
    }
  }

  private static void awaitRefusal(Combiner<Integer> combiner) {
    Awaitility.await().until(combiner::isRefusing);
  }

  private static void complete(CompletableFuture<Void> result, Combiner<Integer> combiner) {
    try {
      combiner.write(3);
      result.complete(null);
    } catch (StoreException e) {
      result.completeExceptionally(e);
    }
  }
}
