package carillon.store.deadletters;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.store.db.Column;
import carillon.store.db.Tx;
import carillon.store.tasks.AttemptResult;
import carillon.store.tasks.TaskStory;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/** Inserts the attempts and transitions of restored tasks. */
final class RestoredHistory {

  private RestoredHistory() {}

  /** One entry of a task's history. */
  private record Entry<T>(TaskId task, T value) {}

  static void insert(Tx tx, TenantId tenant, List<ArchivedTask> tasks) {
    List<Entry<TaskStory.Attempt>> attempts = new ArrayList<>();
    List<Entry<TaskStory.Transition>> transitions = new ArrayList<>();
    for (ArchivedTask each : tasks) {
      TaskId id = each.id();
      each.attempts().forEach(attempt -> attempts.add(new Entry<>(id, attempt)));
      each.transitions().forEach(transition -> transitions.add(new Entry<>(id, transition)));
    }
    inChunks(
        attempts, attempt -> length(attempt.result()), chunk -> insertAttempts(tx, tenant, chunk));
    inChunks(
        transitions,
        transition -> length(transition.reason()),
        chunk -> insertTransitions(tx, tenant, chunk));
  }

  private static long length(AttemptResult result) {
    return length(result.error()) + length(result.output()) + length(result.request());
  }

  private static long length(@Nullable String text) {
    return text == null ? 0 : text.length();
  }

  /** The history of one task may be longer than one statement should be. */
  private static <T> void inChunks(
      List<Entry<T>> entries, ToLongFunction<T> length, Consumer<List<Entry<T>>> insert) {
    int from = 0;
    long chars = 0;
    for (int i = 0; i < entries.size(); i++) {
      long more = length.applyAsLong(entries.get(i).value());
      if (chars > 0 && chars + more > Restores.CHUNK_BYTES) {
        insert.accept(entries.subList(from, i));
        from = i;
        chars = 0;
      }
      chars += more;
    }
    if (from < entries.size()) {
      insert.accept(entries.subList(from, entries.size()));
    }
  }

  private static final String ATTEMPTS =
      """
      /* RestoredHistory.attempts */
      INSERT INTO carillon.attempt (
          tenant, task, partition, attempt, fence, leased_by, started_at, ended_at, outcome, failure, status, error, output,
          request)
      SELECT ?, n.*
      FROM unnest(?::uuid[], ?::date[], ?::int[], ?::int[], ?::text[], ?::timestamptz[], ?::timestamptz[], ?::text[],
                  ?::text[], ?::smallint[], ?::text[], ?::text[], ?::text[]) AS n
      """;

  private static void insertAttempts(
      Tx tx, TenantId tenant, List<Entry<TaskStory.Attempt>> attempts) {
    tx.update(
        ATTEMPTS,
        tenant,
        ids(attempts),
        partitions(attempts),
        Column.ints(attempts, each -> each.value().attempt()),
        Column.ints(attempts, each -> each.value().fence()),
        Column.texts(attempts, each -> each.value().by()),
        Column.instants(attempts, each -> each.value().startedAt()),
        Column.instants(attempts, each -> each.value().endedAt()),
        Column.texts(attempts, each -> each.value().outcome()),
        Column.texts(attempts, each -> Restores.failure(each.value().result())),
        Column.shorts(attempts, each -> each.value().result().status()),
        Column.texts(attempts, each -> each.value().result().error()),
        Column.texts(attempts, each -> each.value().result().output()),
        Column.texts(attempts, each -> each.value().result().request()));
  }

  private static final String TRANSITIONS =
      """
      /* RestoredHistory.transitions */
      INSERT INTO carillon.transition (tenant, task, partition, at, from_state, to_state, fence, who, reason)
      SELECT ?, task, partition, at, from_state::carillon.task_state, to_state::carillon.task_state, fence, who, reason
      FROM unnest(?::uuid[], ?::date[], ?::timestamptz[], ?::text[], ?::text[], ?::int[], ?::text[], ?::text[])
           AS n (task, partition, at, from_state, to_state, fence, who, reason)
      """;

  private static void insertTransitions(
      Tx tx, TenantId tenant, List<Entry<TaskStory.Transition>> transitions) {
    tx.update(
        TRANSITIONS,
        tenant,
        ids(transitions),
        partitions(transitions),
        Column.instants(transitions, each -> each.value().at()),
        Column.texts(transitions, each -> each.value().from().name()),
        Column.texts(transitions, each -> each.value().to().name()),
        Column.ints(transitions, each -> each.value().fence()),
        Column.texts(transitions, each -> each.value().by()),
        Column.texts(transitions, each -> each.value().reason()));
  }

  private static <T> Column ids(List<Entry<T>> entries) {
    return Column.uuids(entries, entry -> entry.task().value());
  }

  private static <T> Column partitions(List<Entry<T>> entries) {
    return Column.dates(entries, entry -> entry.task().partition().day());
  }
}
