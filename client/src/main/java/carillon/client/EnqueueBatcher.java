package carillon.client;

import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Creates tasks in the background: while requests are under way, what comes gathers, and goes
 * together in the next one.
 */
final class EnqueueBatcher {

  private static final int MAX_PENDING = 10_000;
  private static final int BATCH_TASKS = 1_000;
  private static final int BATCH_CHARS = 4 << 20;

  /** What waits to be created. */
  private record Waiting(
      JsonNode task,
      int size,
      boolean isAlone,
      @Nullable String idempotencyKey,
      CompletableFuture<CreatedTask> created) {}

  private final SenderThreads senders;
  private final BiFunction<JsonNode, @Nullable String, CreatedTask> create;
  private final BiFunction<List<JsonNode>, String, List<UUID>> createAll;
  private final Semaphore room = new Semaphore(MAX_PENDING);
  private final Queue<Waiting> waiting = new ArrayDeque<>(); // guarded by this
  private int sending; // guarded by this

  EnqueueBatcher(
      SenderThreads senders,
      BiFunction<JsonNode, @Nullable String, CreatedTask> create,
      BiFunction<List<JsonNode>, String, List<UUID>> createAll) {
    this.senders = senders;
    this.create = create;
    this.createAll = createAll;
  }

  CompletableFuture<CreatedTask> add(NewTask task, JsonNode json) {
    // What is unique or has a key of its own cannot be part of a batch.
    boolean isAlone = task.isUnique() || task.idempotencyKey() != null;
    int size = json.toString().getBytes(StandardCharsets.UTF_8).length;
    var one = new Waiting(json, size, isAlone, task.idempotencyKey(), new CompletableFuture<>());
    room.acquireUninterruptibly();
    synchronized (this) {
      waiting.add(one);
      if (sending == SenderThreads.MAX) {
        return one.created();
      }
      sending++;
    }
    try {
      senders.run(this::sendAll);
    } catch (RejectedExecutionException e) {
      var why = new IllegalStateException("the connection is closed", e);
      List<Waiting> unsent = rejected();
      room.release(unsent.size());
      unsent.forEach(each -> each.created().completeExceptionally(why));
    }
    return one.created();
  }

  /** What nobody will send, because there is no sender left. */
  private synchronized List<Waiting> rejected() {
    sending--;
    if (sending > 0) {
      return List.of(); // who is still there takes it, or gives it up like this
    }
    List<Waiting> all = List.copyOf(waiting);
    waiting.clear();
    return all;
  }

  private void sendAll() {
    for (List<Waiting> batch = next(); !batch.isEmpty(); batch = next()) {
      send(batch);
    }
  }

  /** Empty when there is nothing more; then the sender must end. */
  private synchronized List<Waiting> next() {
    List<Waiting> batch = new ArrayList<>();
    int chars = 0;
    for (Waiting head = waiting.peek(); head != null; head = waiting.peek()) {
      boolean fits =
          !head.isAlone() && batch.size() < BATCH_TASKS && chars + head.size() <= BATCH_CHARS;
      if (!batch.isEmpty() && !fits) {
        return batch;
      }
      batch.add(waiting.remove());
      chars += head.size();
      if (head.isAlone()) {
        return batch;
      }
    }
    if (batch.isEmpty()) {
      sending--;
    }
    return batch;
  }

  private void send(List<Waiting> batch) {
    try {
      if (batch.size() == 1) {
        Waiting one = batch.get(0);
        created(batch, List.of(create.apply(one.task(), one.idempotencyKey())));
        return;
      }
      List<UUID> ids =
          createAll.apply(batch.stream().map(Waiting::task).toList(), UUID.randomUUID().toString());
      if (ids.size() != batch.size()) {
        throw new IllegalStateException(
            "the server answered " + ids.size() + " ids for " + batch.size() + " tasks");
      }
      created(batch, ids.stream().map(id -> new CreatedTask(id, true)).toList());
    } catch (CarillonException e) {
      if (batch.size() == 1 || e.status() < 400 || e.status() >= 500 || e.isTransient()) {
        fail(batch, e);
      } else {
        // One of them is wrong and nothing was stored: the others must not pay for it.
        batch.forEach(one -> send(List.of(one)));
      }
    } catch (RuntimeException | Error e) {
      fail(batch, e);
    }
  }

  private void created(List<Waiting> batch, List<CreatedTask> created) {
    room.release(batch.size());
    for (int i = 0; i < batch.size(); i++) {
      CompletableFuture<CreatedTask> future = batch.get(i).created();
      CreatedTask task = created.get(i);
      senders.complete(future, () -> future.complete(task));
    }
  }

  private void fail(List<Waiting> batch, Throwable why) {
    room.release(batch.size());
    for (Waiting one : batch) {
      senders.complete(one.created(), () -> one.created().completeExceptionally(why));
    }
  }
}
