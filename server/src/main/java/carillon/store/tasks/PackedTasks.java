package carillon.store.tasks;

import carillon.model.target.BrokerName;
import carillon.model.task.NewTask;
import carillon.model.task.Route;
import carillon.model.task.TaskSpec;
import carillon.store.db.Binary;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The tasks of a batch as bytes, added while the request is parsed. A task takes about as much
 * memory as its row, and the columns of its spec are already in the format of {@code COPY}. Its id,
 * lane and times are not included, because they are set when the transaction begins.
 */
public final class PackedTasks implements AutoCloseable {

  private static final byte NONE = 0;
  private static final byte AT = 1;
  private static final byte AFTER = 2;

  private static final byte NO_PRIORITY = -1;
  private static final byte JSONB_VERSION = 1;
  private static final List<Route.Kind> KINDS = List.of(Route.Kind.values());
  private static final int SCRATCH = 4 << 10;

  private final SpillBuffer records;
  private ByteBuffer scratch = ByteBuffer.allocate(SCRATCH);
  private long bytes;

  public PackedTasks(SpillBuffer.Budget budget) {
    this.records = new SpillBuffer(budget);
  }

  public int size() {
    return records.size();
  }

  /** Adds a task, which must not be unique. */
  public void add(NewTask task) {
    scratch.clear();
    putLane(task);
    putTime(task.delay(), task.dueAt());
    putTime(task.ttl(), task.expiresAt());
    for (int i = 0; i < TaskColumns.FIRST_JSON; i++) {
      putText(TaskColumns.text(task.spec(), i));
    }
    for (int i = TaskColumns.FIRST_JSON; i < TaskColumns.SPEC.size(); i++) {
      putJson(TaskColumns.text(task.spec(), i));
    }
    records.add(scratch.array(), 0, scratch.position());
    bytes += scratch.position();
  }

  private void putLane(NewTask task) {
    TaskSpec spec = task.spec();
    Route route = spec.target() == null ? Route.TYPE : Route.of(spec.target());
    byte[] type = spec.type().getBytes(StandardCharsets.UTF_8);
    byte[] broker =
        route.broker() == null
            ? new byte[0]
            : route.broker().text().getBytes(StandardCharsets.UTF_8);
    room(4 * Byte.BYTES + 3 * Short.BYTES + Integer.BYTES + type.length + broker.length);
    scratch.putShort((short) (2 * Byte.BYTES + Short.BYTES + type.length + broker.length));
    scratch.put(task.priority() == null ? NO_PRIORITY : task.priority().byteValue());
    scratch.put((byte) KINDS.indexOf(route.kind()));
    scratch.putShort((short) type.length).put(type).put(broker);
    scratch.put((byte) (spec.key() == null ? 0 : 1));
    scratch.putInt(spec.key() == null ? 0 : spec.key().hashCode());
  }

  private void putTime(@Nullable Duration after, @Nullable Instant at) {
    room(Byte.BYTES + Long.BYTES);
    if (after != null) {
      scratch.put(AFTER).putLong(after.toNanos());
    } else if (at != null) {
      scratch.put(AT).putLong(Binary.micros(at));
    } else {
      scratch.put(NONE).putLong(0);
    }
  }

  private void putText(@Nullable String text) {
    if (text == null) {
      room(Integer.BYTES);
      scratch.putInt(Binary.NULL);
      return;
    }
    byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
    room(Integer.BYTES + utf8.length);
    scratch.putInt(utf8.length).put(utf8);
  }

  private void putJson(@Nullable String json) {
    if (json == null) {
      putText(null);
      return;
    }
    byte[] utf8 = json.getBytes(StandardCharsets.UTF_8);
    room(Integer.BYTES + 1 + utf8.length);
    scratch.putInt(1 + utf8.length).put(JSONB_VERSION).put(utf8);
  }

  private void room(int more) {
    if (scratch.remaining() < more) {
      int enough = Math.max(2 * scratch.capacity(), scratch.position() + more);
      scratch = ByteBuffer.allocate(enough).put(scratch.flip());
    }
  }

  /** The approximate size of the rows of these tasks. */
  long bytes(int[] indexes) {
    if (indexes.length == size()) {
      return bytes;
    }
    long sum = 0;
    for (int index : indexes) {
      sum += records.length(index);
    }
    return sum;
  }

  /** Starts before the first task. */
  public Cursor cursor() {
    return new Cursor(records.reader());
  }

  /** Iterates over the tasks; its values are valid until it moves on. */
  public final class Cursor {

    private final SpillBuffer.Reader reader;
    private int index = -1;

    private byte[] lane = new byte[0];
    private boolean isSameLane;
    private String type = "";
    private @Nullable Integer priority;
    private Route route = Route.TYPE;

    private boolean hasKey;
    private int keyHash;
    private byte dueKind;
    private long due;
    private byte expiryKind;
    private long expiry;
    private int columns;

    private Cursor(SpillBuffer.Reader reader) {
      this.reader = reader;
    }

    /** Moves to the next task; false if there is none. */
    public boolean next() {
      if (index + 1 >= size()) {
        return false;
      }
      moveTo(index + 1);
      return true;
    }

    void moveTo(int task) {
      index = task;
      reader.moveTo(task);
      ByteBuffer in = ByteBuffer.wrap(reader.bytes(), reader.from(), reader.length());
      readLane(in);
      hasKey = in.get() != 0;
      keyHash = in.getInt();
      dueKind = in.get();
      due = in.getLong();
      expiryKind = in.get();
      expiry = in.getLong();
      columns = in.position();
    }

    /** Most tasks of a batch have the same lane, which is then not decoded again. */
    private void readLane(ByteBuffer in) {
      byte[] bytes = reader.bytes(); // the array behind the buffer
      int length = in.getShort();
      int from = in.position();
      isSameLane = index > 0 && Arrays.equals(lane, 0, lane.length, bytes, from, from + length);
      if (!isSameLane) {
        lane = Arrays.copyOfRange(bytes, from, from + length);
        byte given = in.get();
        priority = given == NO_PRIORITY ? null : (int) given;
        Route.Kind kind = KINDS.get(in.get());
        int typeLength = in.getShort();
        type = new String(bytes, in.position(), typeLength, StandardCharsets.UTF_8);
        int broker = in.position() + typeLength;
        String name = new String(bytes, broker, from + length - broker, StandardCharsets.UTF_8);
        route = new Route(kind, name.isEmpty() ? null : BrokerName.parse(name).orElseThrow());
      }
      in.position(from + length);
    }

    public int index() {
      return index;
    }

    public String type() {
      return type;
    }

    @Nullable Integer priority() {
      return priority;
    }

    Route route() {
      return route;
    }

    /** Whether type, priority and route are those of the previous task. */
    boolean isSameLane() {
      return isSameLane;
    }

    /** Determines the slice; null for a task without a key. */
    @Nullable Integer keyHash() {
      return hasKey ? keyHash : null;
    }

    Instant dueAt(Instant now) {
      Instant asked =
          switch (dueKind) {
            case AT -> Binary.instant(due);
            case AFTER -> now.plusNanos(due).truncatedTo(ChronoUnit.MICROS);
            default -> now;
          };
      return asked.isBefore(now) ? now : asked;
    }

    @Nullable Instant expiresAt(Instant dueAt) {
      return switch (expiryKind) {
        case AT -> Binary.instant(expiry);
        case AFTER -> dueAt.plusNanos(expiry);
        default -> null;
      };
    }

    public @Nullable String payload() {
      return column(TaskColumns.PAYLOAD);
    }

    /** The columns of the spec in the format of COPY; shares its bytes with this cursor. */
    ByteBuffer columns() {
      return ByteBuffer.wrap(reader.bytes(), columns, reader.from() + reader.length() - columns);
    }

    private @Nullable String column(int wanted) {
      return PackedTasks.column(columns(), wanted);
    }
  }

  /** Positioned at the length of one of the columns. */
  private static ByteBuffer at(ByteBuffer columns, int wanted) {
    ByteBuffer in = columns.duplicate();
    for (int i = 0; i < wanted; i++) {
      int length = in.getInt();
      in.position(in.position() + Math.max(0, length));
    }
    return in;
  }

  /** The length in bytes of one of the columns that {@link Cursor#columns} returns. */
  static int length(ByteBuffer columns, int wanted) {
    return Math.max(0, at(columns, wanted).getInt()); // NULL has length -1
  }

  /** The text of one of the columns that {@link Cursor#columns} returns. */
  static @Nullable String column(ByteBuffer columns, int wanted) {
    ByteBuffer in = at(columns, wanted);
    int length = in.getInt();
    if (length == Binary.NULL) {
      return null;
    }
    int skipped = wanted >= TaskColumns.FIRST_JSON ? 1 : 0;
    return new String(
        in.array(),
        in.arrayOffset() + in.position() + skipped,
        length - skipped,
        StandardCharsets.UTF_8);
  }

  @Override
  public void close() {
    records.close();
  }
}
