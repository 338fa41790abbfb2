package carillon.store.db;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.UUID;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.postgresql.core.BaseConnection;
import org.postgresql.core.Oid;
import org.postgresql.jdbc.PgArray;

/**
 * One column of a batch of rows, bound as an array in PostgreSQL's binary format. The driver would
 * send ids and times as text, and writing and reading that text costs more than the rest of the
 * statement.
 *
 * <p>A column without any value is sent as an empty array: {@code unnest} fills it up with NULLs to
 * the length of the other columns.
 */
public final class Column {

  private static final int DIMENSIONS = 1;
  private static final int FIRST_INDEX = 1;
  private static final int HEADER = 5 * Integer.BYTES;
  private static final int EMPTY = 3 * Integer.BYTES; // no dimension, so nothing about any

  private final int type;
  private final byte[] bytes;

  private Column(int type, byte[] bytes) {
    this.type = type;
    this.bytes = bytes;
  }

  public static <T> Column ints(Collection<T> rows, Function<? super T, @Nullable Integer> value) {
    return fixed(Oid.INT4_ARRAY, Oid.INT4, Integer.BYTES, rows, value, ByteBuffer::putInt);
  }

  public static <T> Column longs(Collection<T> rows, Function<? super T, @Nullable Long> value) {
    return fixed(Oid.INT8_ARRAY, Oid.INT8, Long.BYTES, rows, value, ByteBuffer::putLong);
  }

  /** Of whole numbers that fit into PostgreSQL's smallint. */
  public static <T> Column shorts(
      Collection<T> rows, Function<? super T, @Nullable Integer> value) {
    return fixed(
        Oid.INT2_ARRAY,
        Oid.INT2,
        Short.BYTES,
        rows,
        value,
        (out, number) -> out.putShort(toShort(number)));
  }

  private static short toShort(int number) {
    if (number != (short) number) {
      throw new ArithmeticException(number + " is not a smallint");
    }
    return (short) number;
  }

  public static <T> Column booleans(
      Collection<T> rows, Function<? super T, @Nullable Boolean> value) {
    return fixed(
        Oid.BOOL_ARRAY,
        Oid.BOOL,
        Byte.BYTES,
        rows,
        value,
        (out, is) -> out.put((byte) (is ? 1 : 0)));
  }

  public static <T> Column uuids(Collection<T> rows, Function<? super T, @Nullable UUID> value) {
    return fixed(Oid.UUID_ARRAY, Oid.UUID, Binary.UUID_BYTES, rows, value, Binary::put);
  }

  public static <T> Column instants(
      Collection<T> rows, Function<? super T, @Nullable Instant> value) {
    return fixed(
        Oid.TIMESTAMPTZ_ARRAY,
        Oid.TIMESTAMPTZ,
        Long.BYTES,
        rows,
        value,
        (out, instant) -> out.putLong(Binary.micros(instant)));
  }

  public static <T> Column dates(
      Collection<T> rows, Function<? super T, @Nullable LocalDate> value) {
    return fixed(
        Oid.DATE_ARRAY,
        Oid.DATE,
        Integer.BYTES,
        rows,
        value,
        (out, day) -> out.putInt(Binary.days(day)));
  }

  public static <T> Column texts(Collection<T> rows, Function<? super T, @Nullable String> value) {
    List<byte @Nullable []> texts = new ArrayList<>(rows.size());
    int size = 0;
    for (T row : rows) {
      String text = value.apply(row);
      byte @Nullable [] bytes = text == null ? null : text.getBytes(StandardCharsets.UTF_8);
      size += bytes == null ? 0 : bytes.length;
      texts.add(bytes);
    }
    ByteBuffer out = ByteBuffer.allocate(HEADER + texts.size() * Integer.BYTES + size);
    out.position(HEADER);
    int nulls = 0;
    for (byte @Nullable [] text : texts) {
      if (text == null) {
        out.putInt(Binary.NULL);
        nulls++;
      } else {
        out.putInt(text.length).put(text);
      }
    }
    return ofElements(Oid.TEXT_ARRAY, Oid.TEXT, out, texts.size(), nulls);
  }

  private static <T, V> Column fixed(
      int type,
      int elementType,
      int size,
      Collection<T> rows,
      Function<? super T, @Nullable V> value,
      BiConsumer<ByteBuffer, V> put) {
    ByteBuffer out = ByteBuffer.allocate(HEADER + rows.size() * (Integer.BYTES + size));
    out.position(HEADER);
    int nulls = 0;
    for (T row : rows) {
      V one = value.apply(row);
      if (one == null) {
        out.putInt(Binary.NULL);
        nulls++;
      } else {
        put.accept(out.putInt(size), one);
      }
    }
    return ofElements(type, elementType, out, rows.size(), nulls);
  }

  private static Column ofElements(
      int type, int elementType, ByteBuffer out, int elements, int nulls) {
    boolean isEmpty = elements == nulls;
    byte[] bytes = new byte[isEmpty ? EMPTY : out.position()];
    out.putInt(0, isEmpty ? 0 : DIMENSIONS)
        .putInt(Integer.BYTES, !isEmpty && nulls > 0 ? 1 : 0)
        .putInt(2 * Integer.BYTES, elementType)
        .putInt(3 * Integer.BYTES, elements)
        .putInt(4 * Integer.BYTES, FIRST_INDEX)
        .get(0, bytes);
    return new Column(type, bytes);
  }

  void bind(PreparedStatement statement, int index) throws SQLException {
    BaseConnection connection = statement.getConnection().unwrap(BaseConnection.class);
    statement.setArray(index, new PgArray(connection, type, bytes));
  }
}
