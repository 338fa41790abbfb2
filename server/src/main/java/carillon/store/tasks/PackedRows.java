package carillon.store.tasks;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.task.DayRange;
import carillon.store.db.CopiedRows;
import carillon.store.db.Transitions;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * The rows of a packed batch, with the id, lane and times of each task. A row object exists only
 * while the row is written, so that a batch in memory is only its bytes and a few numbers per task.
 */
final class PackedRows {

  private final TenantId tenant;
  private final PackedTasks tasks;
  private final int[] lanes;
  private final Instant now;

  // The id of each task.
  private final long[] idHigh;
  private final long[] idLow;

  /** The indexes of the tasks of each partition, in their order. */
  private final Map<Partition, int[]> byPartition = new TreeMap<>();

  private final Set<DayRange> days = new HashSet<>();

  /** When the first task of each lane is ready. */
  private final Map<Partition, Map<Integer, Instant>> earliest = new TreeMap<>();

  /**
   * @param lanes the lane of each task
   */
  PackedRows(TenantId tenant, PackedTasks tasks, int[] lanes, Instant now, Bursts bursts) {
    int size = tasks.size();
    this.tenant = tenant;
    this.tasks = tasks;
    this.lanes = lanes;
    this.now = now;
    this.idHigh = new long[size];
    this.idLow = new long[size];
    settle(bursts);
  }

  /** A growing list of indexes. */
  private static final class Indexes {
    private int[] indexes = new int[16];
    private int size;

    void add(int index) {
      if (size == indexes.length) {
        indexes = Arrays.copyOf(indexes, 2 * size);
      }
      indexes[size++] = index;
    }

    int[] all() {
      return Arrays.copyOf(indexes, size);
    }
  }

  private void settle(Bursts bursts) {
    Map<Partition, Indexes> gathered = new TreeMap<>();
    PackedTasks.Cursor task = tasks.cursor();
    while (task.next()) {
      Instant dueAt = task.dueAt(now);
      int offset = bursts.next(dueAt);
      DayRange range = DayRange.of(dueAt, now);
      days.add(range);
      TaskId id = TaskId.at(range.idTime(dueAt), offset, ThreadLocalRandom.current());
      int i = task.index();
      idHigh[i] = id.value().getMostSignificantBits();
      idLow[i] = id.value().getLeastSignificantBits();
      gathered.computeIfAbsent(id.partition(), _ -> new Indexes()).add(i);
      earliest
          .computeIfAbsent(id.partition(), _ -> new TreeMap<>())
          .merge(lanes[i], readyAt(i, dueAt), (a, b) -> a.isBefore(b) ? a : b);
    }
    gathered.forEach((partition, indexes) -> byPartition.put(partition, indexes.all()));
  }

  /** The days whose partitions must exist before the rows are written. */
  Set<DayRange> days() {
    return days;
  }

  /** Some microseconds after the due time, which spreads a burst; the id has them too. */
  private Instant readyAt(int index, Instant dueAt) {
    return dueAt.plus(TaskId.offsetOf(idHigh[index]), ChronoUnit.MICROS);
  }

  Map<Partition, int[]> byPartition() {
    return byPartition;
  }

  /** The approximate size of these rows. */
  long bytes(int[] indexes) {
    return tasks.bytes(indexes);
  }

  /** Each row is valid until the next one, because it shares its bytes with a cursor. */
  Iterable<InsertedTask> rows(int[] indexes) {
    PackedTasks.Cursor task = tasks.cursor();
    return () ->
        new Iterator<>() {
          private int next;

          @Override
          public boolean hasNext() {
            return next < indexes.length;
          }

          @Override
          public InsertedTask next() {
            if (!hasNext()) {
              throw new NoSuchElementException();
            }
            task.moveTo(indexes[next++]);
            return row(task, task.columns());
          }
        };
  }

  /** Rows with bytes of their own; use it for few rows. */
  List<InsertedTask> copies(int[] indexes) {
    List<InsertedTask> rows = new ArrayList<>(indexes.length);
    PackedTasks.Cursor task = tasks.cursor();
    for (int index : indexes) {
      task.moveTo(index);
      ByteBuffer shared = task.columns();
      ByteBuffer own = ByteBuffer.allocate(shared.remaining()).put(shared).flip();
      rows.add(row(task, own));
    }
    return rows;
  }

  private Row row(PackedTasks.Cursor task, ByteBuffer columns) {
    int i = task.index();
    Instant dueAt = task.dueAt(now);
    return new Row(
        tenant, id(i), lanes[i], readyAt(i, dueAt), dueAt, now, task.expiresAt(dueAt), columns);
  }

  private TaskId id(int index) {
    return new TaskId(new UUID(idHigh[index], idLow[index]));
  }

  private record Row(
      TenantId tenant,
      TaskId id,
      int laneId,
      Instant readyAt,
      Instant dueAt,
      Instant createdAt,
      @Nullable Instant expiresAt,
      ByteBuffer columns)
      implements InsertedTask {

    @Override
    public @Nullable String specColumn(int index) {
      return PackedTasks.column(columns, index);
    }

    @Override
    public int payloadBytes() {
      return PackedTasks.length(columns, TaskColumns.PAYLOAD);
    }

    @Override
    public void addSpec(CopiedRows copied) {
      copied.addEncoded(columns.duplicate());
    }

    @Override
    public @Nullable String schedule() {
      return null;
    }

    @Override
    public @Nullable Instant fireAt() {
      return null;
    }
  }

  /** Ids, created on demand: they are all that remains of a batch in memory until the response. */
  private static final class Ids extends AbstractList<TaskId> {
    private final long[] high;
    private final long[] low;

    Ids(long[] high, long[] low) {
      this.high = high;
      this.low = low;
    }

    @Override
    public TaskId get(int index) {
      return new TaskId(new UUID(high[index], low[index]));
    }

    @Override
    public int size() {
      return high.length;
    }
  }

  /** In the order of the tasks. */
  List<TaskId> ids() {
    return new Ids(idHigh, idLow);
  }

  private record New(TaskId id, int laneId) implements Transitions.Created {}

  /** All tasks as listeners receive them; created on demand. */
  List<Transitions.Created> created() {
    return new AbstractList<>() {
      @Override
      public Transitions.Created get(int index) {
        return new New(id(index), lanes[index]);
      }

      @Override
      public int size() {
        return lanes.length;
      }
    };
  }

  /** When the first task of each lane is ready, in each partition. */
  Map<Partition, Map<Integer, Instant>> earliest() {
    return earliest;
  }
}
