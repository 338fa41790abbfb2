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
 * Creates tasks in the background. Tasks added while requests are running share the next request.
 */
final class EnqueueBatcher {

  private static final int MAX_PENDING = 10_000;
  private static final int BATCH_TASKS = 1_000;
  private static final int BATCH_CHARS = 4 << 20;

  private record Pending(
      JsonNode task,
      int size,
      boolean isAlone,
      @Nullable String idempotencyKey,
      CompletableFuture<CreatedTask> created) {}

  private final SenderThreads senders;
  private final BiFunction<JsonNode, @Nullable String, CreatedTask> create;
  private final BiFunction<List<JsonNode>, String, List<UUID>> createAll;
  private final Semaphore permits = new Semaphore(MAX_PENDING);
  private final Queue<Pending> pending = new ArrayDeque<>(); // guarded by this
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
    // A unique task or one with its own idempotency key cannot be part of a batch.
    boolean isAlone = task.isUnique() || task.idempotencyKey() != null;
    int size = json.toString().getBytes(StandardCharsets.UTF_8).length;
    var one = new Pending(json, size, isAlone, task.idempotencyKey(), new CompletableFuture<>());
    permits.acquireUninterruptibly();
    synchronized (this) {
      pending.add(one);
      if (sending == SenderThreads.MAX) {
        return one.created();
      }
      sending++;
    }
    try {
      senders.run(this::sendAll);
    } catch (RejectedExecutionException e) {
      var why = new IllegalStateException("the connection is closed", e);
      List<Pending> unsent = rejected();
      permits.release(unsent.size());
      unsent.forEach(each -> each.created().completeExceptionally(why));
    }
    return one.created();
  }

  /** The tasks that will not be sent, because no sender is left. */
  private synchronized List<Pending> rejected() {
    sending--;
    if (sending > 0) {
      return List.of(); // a remaining sender sends them, or rejects them here
    }
    List<Pending> all = List.copyOf(pending);
    pending.clear();
    return all;
  }

  private void sendAll() {
    for (List<Pending> batch = next(); !batch.isEmpty(); batch = next()) {
      send(batch);
    }
  }

  /** The next batch; empty when nothing is left, and then the sender must stop. */
  private synchronized List<Pending> next() {
    List<Pending> batch = new ArrayList<>();
    int chars = 0;
    for (Pending head = pending.peek(); head != null; head = pending.peek()) {
      boolean fits =
          !head.isAlone() && batch.size() < BATCH_TASKS && chars + head.size() <= BATCH_CHARS;
      if (!batch.isEmpty() && !fits) {
        return batch;
      }
      batch.add(pending.remove());
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

  private void send(List<Pending> batch) {
    try {
      if (batch.size() == 1) {
        Pending one = batch.get(0);
        created(batch, List.of(create.apply(one.task(), one.idempotencyKey())));
        return;
      }
      List<UUID> ids =
          createAll.apply(batch.stream().map(Pending::task).toList(), UUID.randomUUID().toString());
      if (ids.size() != batch.size()) {
        throw new IllegalStateException(
            "the server returned " + ids.size() + " ids for " + batch.size() + " tasks");
      }
      created(batch, ids.stream().map(id -> new CreatedTask(id, true)).toList());
    } catch (CarillonException e) {
      if (batch.size() == 1 || e.status() < 400 || e.status() >= 500 || e.isTransient()) {
        fail(batch, e);
      } else {
        // One task is invalid and nothing was stored: create the others one by one.
        batch.forEach(one -> send(List.of(one)));
      }
    } catch (RuntimeException | Error e) {
      fail(batch, e);
    }
  }

  private void created(List<Pending> batch, List<CreatedTask> created) {
    permits.release(batch.size());
    for (int i = 0; i < batch.size(); i++) {
      CompletableFuture<CreatedTask> future = batch.get(i).created();
      CreatedTask task = created.get(i);
      senders.complete(future, () -> future.complete(task));
    }
  }

  private void fail(List<Pending> batch, Throwable why) {
    permits.release(batch.size());
    for (Pending one : batch) {
      senders.complete(one.created(), () -> one.created().completeExceptionally(why));
    }
  }
}
