package carillon.store.tasks;

import carillon.model.task.TaskSpec;
import carillon.store.catalog.CatalogRows;
import carillon.store.db.Column;
import carillon.store.db.ColumnList;
import carillon.store.db.Json;
import carillon.store.db.Sql;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.function.BiFunction;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** The columns of {@code carillon.task} that store a {@link TaskSpec}. */
public final class TaskColumns {

  /** All but the type, which the lane has. {@link PackedTasks} stores them in this order. */
  public static final ColumnList SPEC =
      ColumnList.of(
          "key text, concurrency_key text, payload text, target jsonb, retry jsonb, metadata jsonb,"
              + " on_complete jsonb, on_dead jsonb");

  static final int CONCURRENCY_KEY = 1;
  static final int PAYLOAD = 2;
  static final int FIRST_JSON = 3;

  private TaskColumns() {}

  /** The value of a column of {@link #SPEC}, as text. */
  public static @Nullable String text(TaskSpec spec, int column) {
    return switch (column) {
      case 0 -> spec.key();
      case CONCURRENCY_KEY -> spec.concurrencyKey();
      case PAYLOAD -> spec.payload();
      case FIRST_JSON -> Sql.json(spec.target());
      case 4 -> Sql.json(spec.retry());
      case 5 -> Sql.json(spec.metadata());
      case 6 -> Sql.json(spec.callbacks().onComplete());
      case 7 -> Sql.json(spec.callbacks().onDead());
      default -> throw new IndexOutOfBoundsException(column);
    };
  }

  /** The columns of {@link #SPEC} of these rows. */
  public static <T> List<Column> texts(
      List<T> rows, BiFunction<? super T, Integer, @Nullable String> text) {
    return IntStream.range(0, SPEC.size())
        .mapToObj(column -> Column.texts(rows, row -> text.apply(row, column)))
        .toList();
  }

  static TaskSpec read(String type, ResultSet row) throws SQLException {
    String target = row.getString("target");
    String retry = row.getString("retry");
    return new TaskSpec(
        type,
        row.getString("key"),
        row.getString("concurrency_key"),
        row.getString("payload"),
        target == null ? null : Json.target(target),
        retry == null ? null : Json.retry(retry),
        Json.pairs(row.getString("metadata")),
        CatalogRows.callbacks(row));
  }
}
