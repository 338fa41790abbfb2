package carillon.chaos.history;

import org.jspecify.annotations.Nullable;

/** One row that was read from the database at the end of a run. */
public record Row(Table table, Fields fields) {

  public @Nullable String text(String name) {
    return fields.text(name);
  }

  public String need(String name) {
    return fields.need(name);
  }

  public long number(String name) {
    return fields.number(name);
  }

  public @Nullable Long micros(String name) {
    return fields.micros(name);
  }

  String line() {
    return Fields.of("table", table.written()).and(fields).toString();
  }

  static Row read(String line) {
    Fields all = Fields.read(line);
    return new Row(Table.read(all.need("table")), all.and("table", null));
  }
}
