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
    private final List<List<Integer>> batches = new ArrayList<>();
    private final List<Thread> writers = new ArrayList<>();
    private final CountDownLatch firstStarted = new CountDownLatch(1);
    private final CountDownLatch release = new CountDownLatch(1);

    synchronized void add(List<Integer> batch) {
      batches.add(batch);
      writers.add(Thread.currentThread());
    }

    void holdFirst(List<Integer> batch) {
      add(batch);
      firstStarted.countDown();
      try {
        release.await();
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
      flushes.firstStarted.await();
      for (int i = 1; i <= 20; i++) {
        int item = i;
        writes.add(threads.submit(() -> combiner.write(item)));
      }
      Awaitility.await().until(() -> combiner.gathered() == 20);
      flushes.release.countDown();
      for (Future<?> write : writes) {
        write.get();
      }
    }

    assertThat(flushes.batches).hasSize(2);
    assertThat(flushes.batches.get(1)).hasSize(20);
  }

  @Test
  void an_invalid_item_fails_alone() throws Exception {
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
      flushes.firstStarted.await();
      Future<?> invalid = threads.submit(() -> combiner.write(13));
      Future<?> valid = threads.submit(() -> combiner.write(14));
      Awaitility.await().until(() -> combiner.gathered() == 2);
      flushes.release.countDown();

      first.get();
      valid.get();
      assertThatThrownBy(invalid::get)
          .isInstanceOf(ExecutionException.class)
          .hasRootCauseMessage("13 cannot be written");
    }
  }

  @Test
  void an_error_reaches_every_caller_of_its_batch() {
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
  void the_first_waiting_caller_writes_the_next_batch_in_order() throws Exception {
    Flushes flushes = new Flushes();
    Combiner<Integer> combiner = new Combiner<>(3, flushes::holdFirst);
    List<Thread> callers = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      int item = i;
      callers.add(Thread.startVirtualThread(() -> combiner.write(item)));
      flushes.firstStarted.await();
      Awaitility.await().until(() -> combiner.gathered() == item);
    }
    flushes.release.countDown();
    for (Thread caller : callers) {
      caller.join();
    }

    assertThat(flushes.batches)
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
      flushes.firstStarted.await();
      Future<?> next = threads.submit(() -> combiner.write(1));
      Awaitility.await().until(() -> combiner.gathered() == 1);
      flushes.writers.getFirst().interrupt();

      assertThatThrownBy(writer::get).hasRootCauseInstanceOf(InterruptedException.class);
      flushes.release.countDown();
      next.get();
    }
    assertThat(flushes.batches).containsExactly(List.of(0), List.of(1));
  }

  @Test
  void an_interrupted_callers_item_is_written_and_the_caller_stays_interrupted() throws Exception {
    Flushes flushes = new Flushes();
    Combiner<Integer> combiner = new Combiner<>(100, flushes::holdFirst);
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<?> writer = threads.submit(() -> combiner.write(0));
      flushes.firstStarted.await();
      CompletableFuture<Boolean> isInterrupted = new CompletableFuture<>();
      Thread waiter =
          Thread.startVirtualThread(
              () -> {
                combiner.write(1);
                isInterrupted.complete(Thread.currentThread().isInterrupted());
              });
      Awaitility.await().until(() -> combiner.gathered() == 1);
      waiter.interrupt();
      flushes.release.countDown();

      writer.get();
      assertThat(isInterrupted.get()).isTrue();
    }
    assertThat(flushes.batches).containsExactly(List.of(0), List.of(1));
  }

  @Test
  void every_item_of_racing_callers_is_written_once_or_rejected() throws Exception {
    int callers = 64;
    int perCaller = 500;
    Set<Integer> written = ConcurrentHashMap.newKeySet();
    AtomicInteger concurrentFlushes = new AtomicInteger();
    Combiner<Integer> combiner =
        new Combiner<>(
            20,
            batch -> {
              assertThat(concurrentFlushes.incrementAndGet()).isEqualTo(1);
              try {
                if (batch.stream().anyMatch(CombinerTest::isInvalid)) {
                  throw new StoreException("one of them cannot be written");
                }
                batch.forEach(item -> assertThat(written.add(item)).isTrue());
              } finally {
                concurrentFlushes.decrementAndGet();
              }
            });
    Set<Integer> rejected = ConcurrentHashMap.newKeySet();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<?>> all = new ArrayList<>();
      for (int caller = 0; caller < callers; caller++) {
        int first = caller * perCaller;
        all.add(
            threads.submit(
                () -> {
                  for (int item = first; item < first + perCaller; item++) {
                    try {
                      combiner.write(item);
                      assertThat(written.contains(item)).isTrue();
                    } catch (StoreException e) {
                      rejected.add(item);
                    }
                  }
                }));
      }
      for (Future<?> call : all) {
        call.get(30, TimeUnit.SECONDS);
      }
    }

    assertThat(rejected).allMatch(CombinerTest::isInvalid);
    assertThat(written).noneMatch(CombinerTest::isInvalid);
    assertThat(written.size() + rejected.size()).isEqualTo(callers * perCaller);
  }

  private static boolean isInvalid(int item) {
    return item % 97 == 0;
  }

  @Test
  void callers_fail_fast_while_the_database_is_unreachable() throws Exception {
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
      flushes.firstStarted.await();
      Future<?> waiting = threads.submit(() -> combiner.write(1));
      Awaitility.await().until(() -> combiner.gathered() == 1);
      Awaitility.await()
          .untilAsserted(
              () ->
                  assertThatThrownBy(() -> threads.submit(() -> combiner.write(2)).get(1, SECONDS))
                      .hasRootCauseMessage("the database has not responded for a while"));
      flushes.release.countDown();

      assertThatThrownBy(first::get).hasRootCause(unreachable);
      assertThatThrownBy(waiting::get).hasRootCause(unreachable);
      assertThat(flushes.batches)
          .as("no flush for the waiting callers")
          .containsExactly(List.of(0));
      assertThatThrownBy(() -> combiner.write(3))
          .as("a later caller tries again")
          .isSameAs(unreachable);
    }
  }

  /**
   * A batch of 1 and 2 fails, after longer than the timeout, because of an invalid item. Its items
   * are then written one by one. While 2 is written alone, a new caller is accepted, because the
   * time of the failed flush does not count.
   */
  @Test
  void the_flush_timeout_applies_to_each_flush_after_an_invalid_item() throws Exception {
    Flushes flushes = new Flushes();
    Duration flushTimeout = Duration.ofSeconds(1);
    CompletableFuture<Void> newCaller = new CompletableFuture<>();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      AtomicReference<Combiner<Integer>> self = new AtomicReference<>();
      Combiner<Integer> combiner =
          new Combiner<>(
              100,
              batch -> {
                if (batch.size() > 1) {
                  Awaitility.await().until(self.get()::isRefusing); // the timeout is over
                  throw new StoreException("one of them cannot be written");
                }
                if (batch.contains(2)) {
                  Future<?> _ = threads.submit(() -> write(3, self.get(), newCaller));
                  Awaitility.await().until(() -> self.get().gathered() == 1 || newCaller.isDone());
                }
                flushes.holdFirst(batch);
              },
              flushTimeout);
      self.set(combiner);
      Future<?> _ = threads.submit(() -> combiner.write(0));
      flushes.firstStarted.await();
      Future<?> _ = threads.submit(() -> combiner.write(1));
      Awaitility.await().until(() -> combiner.gathered() == 1);
      Future<?> _ = threads.submit(() -> combiner.write(2));
      Awaitility.await().until(() -> combiner.gathered() == 2);
      flushes.release.countDown();

      newCaller.get(10, SECONDS);
    }
  }

  private static void write(int item, Combiner<Integer> combiner, CompletableFuture<Void> result) {
    try {
      combiner.write(item);
      result.complete(null);
    } catch (StoreException e) {
      result.completeExceptionally(e);
    }
  }
}
