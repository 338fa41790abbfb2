package carillon.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

@Timeout(60)
class EnqueueBatcherTest {

  private static final NewTask TASK = NewTask.of("t");
  private static final JsonNode JSON = TASK.json(JsonMapper.builder().build());
  private static final CreatedTask CREATED = new CreatedTask(UUID.randomUUID(), true);

  private final CountDownLatch responding = new CountDownLatch(1);
  private final SenderThreads senders = new SenderThreads();
  private final EnqueueBatcher batcher =
      new EnqueueBatcher(
          senders, (task, key) -> respond(CREATED), (tasks, key) -> respond(ids(tasks)));

  private <T> T respond(T response) {
    try {
      responding.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
    return response;
  }

  private static List<UUID> ids(List<JsonNode> tasks) {
    return tasks.stream().map(task -> UUID.randomUUID()).toList();
  }

  private CompletableFuture<CreatedTask> add() {
    return batcher.add(TASK, JSON);
  }

  @Test
  void dependent_stages_may_create_tasks_at_the_limit() {
    List<CompletableFuture<CreatedTask>> all =
        IntStream.range(0, 10_000)
            .mapToObj(i -> add().thenCompose(created -> add()).thenCompose(created -> add()))
            .toList();
    CompletableFuture<List<CompletableFuture<CreatedTask>>> more =
        CompletableFuture.supplyAsync(
            () -> IntStream.range(0, 30_000).mapToObj(i -> add()).toList());
    responding.countDown();

    CompletableFuture.allOf(all.toArray(CompletableFuture[]::new)).join();
    List<CompletableFuture<CreatedTask>> others = more.join();
    senders.close();

    assertThat(others).allMatch(CompletableFuture::isDone);
    assertThat(all).allMatch(future -> future.isDone() && !future.isCompletedExceptionally());
  }

  @Test
  void close_waits_for_futures_but_not_for_their_dependent_stages() throws Exception {
    CountDownLatch never = new CountDownLatch(1);
    CompletableFuture<CreatedTask> created = add();
    CompletableFuture<Boolean> dependent =
        created.thenApply(
            task -> {
              try {
                return never.await(1, TimeUnit.MINUTES);
              } catch (InterruptedException e) {
                return false;
              }
            });
    responding.countDown();

    senders.close();

    assertThat(created).isDone();
    assertThat(dependent).isNotDone();
    never.countDown();
  }

  @Test
  void a_future_fails_immediately_after_close() {
    senders.close();

    for (int i = 0; i < 10; i++) {
      assertThat(add()).isCompletedExceptionally();
    }
    assertThatThrownBy(add()::join).hasRootCauseInstanceOf(RuntimeException.class);
  }

  @Test
  void an_interrupted_close_completes_every_future() {
    List<CompletableFuture<CreatedTask>> all =
        IntStream.range(0, 100).mapToObj(i -> add()).toList();
    EnqueueBatcher other =
        new EnqueueBatcher(senders, (task, key) -> respond(CREATED), (t, key) -> ids(t));
    CompletableFuture<CreatedTask> last = other.add(TASK, JSON);

    Thread.currentThread().interrupt();
    senders.close();

    assertThat(Thread.interrupted()).isTrue();
    assertThatThrownBy(last::join).hasCauseInstanceOf(IllegalStateException.class);
    assertThat(all)
        .allSatisfy(
            future ->
                assertThatThrownBy(future::join).hasCauseInstanceOf(IllegalStateException.class));
  }
}
