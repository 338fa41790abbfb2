package carillon.client;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.node.JsonNodeFactory;

/** With one thread for handlers, as without virtual threads. */
@Timeout(30)
class HeldTasksTest {

  private final ExecutorService thread = Executors.newSingleThreadExecutor();
  private final Carillon carillon = Carillon.connect("http://127.0.0.1:9", "key");

  @AfterEach
  void close() {
    thread.shutdownNow();
    carillon.close();
  }

  private HeldTasks heldTasks(PlainHandler handler, WorkerListener listener) {
    var settings =
        new Worker.Settings(
            "w", Map.of("t", handler), 1, 1, Duration.ofSeconds(30), Duration.ZERO, false);
    return new HeldTasks(
        carillon,
        settings,
        new SafeListener(listener),
        thread,
        Threads.unbounded("carillon-w-cancel-"));
  }

  private static ClaimedTask task() {
    return new ClaimedTask(
        UUID.randomUUID(),
        "t",
        null,
        1,
        1,
        Instant.EPOCH,
        JsonNodeFactory.instance.nullNode(),
        null,
        null,
        null,
        null);
  }

  @Test
  void a_handler_that_waits_for_its_cancel_is_notified() {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch cancelled = new CountDownLatch(1);
    CompletableFuture<TaskSource.Ending> ended = new CompletableFuture<>();
    HeldTasks tasks =
        heldTasks(
            context -> {
              context.onCancel(cancelled::countDown);
              begun.countDown();
              cancelled.await();
              return null;
            },
            new WorkerListener() {});
    tasks.accept(task(), ended::complete);

    assertThat(begun).satisfies(CountDownLatch::await);
    tasks.held().forEach(tasks::cancelled);

    assertThat(ended.join()).isEqualTo(TaskSource.Ending.DONE);
  }

  @Test
  void a_listener_that_throws_loses_no_task() {
    CompletableFuture<TaskSource.Ending> ended = new CompletableFuture<>();
    HeldTasks tasks =
        heldTasks(
            context -> null,
            new WorkerListener() {
              @Override
              public void claimed(ClaimedTask task) {
                throw new AssertionError("listener failed");
              }

              @Override
              public void ended(ClaimedTask task, Result result, Duration took) {
                throw new AssertionError("listener failed");
              }
            });
    tasks.accept(task(), ended::complete);

    assertThat(ended.join()).isEqualTo(TaskSource.Ending.DONE);
    assertThat(tasks.held()).isEmpty();
  }
}
