package carillon.store.db;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Columns with their types, listed once for all the places of a statement that need them: the
 * column list of an INSERT or COPY, the arrays of its {@code unnest}, the columns of a SELECT.
 */
public final class ColumnList {

  private record Named(String name, String type) {}

  private final List<Named> columns;

  private ColumnList(List<Named> columns) {
    this.columns = columns;
  }

  /** Parses names and types as in CREATE TABLE: {@code id uuid, lane int} */
  public static ColumnList of(String columns) {
    return new ColumnList(
        Arrays.stream(columns.strip().split(",\\s*"))
            .map(column -> column.split(" ", 2))
            .map(column -> new Named(column[0], column[1]))
            .toList());
  }

  public ColumnList and(ColumnList more) {
    return new ColumnList(Stream.concat(columns.stream(), more.columns.stream()).toList());
  }

  public ColumnList without(String name) {
    return new ColumnList(columns.stream().filter(each -> !each.name().equals(name)).toList());
  }

  public int size() {
    return columns.size();
  }

  /** The names: {@code id, lane} */
  public String names() {
    return columns.stream().map(Named::name).collect(Collectors.joining(", "));
  }

  /** The names with the alias of their table: {@code t.id, t.lane} */
  public String names(char alias) {
    return columns.stream()
        .map(each -> alias + "." + each.name())
        .collect(Collectors.joining(", "));
  }

  /** The arguments of {@code unnest}: {@code ?::uuid[], ?::int[]} */
  public String arrays() {
    return columns.stream()
        .map(each -> "?::" + each.type() + "[]")
        .collect(Collectors.joining(", "));
  }
}
