package carillon.chaos.history;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Everything that is known about a run.
 *
 * @param events in order
 * @param rows of the database at the end
 * @param logs the output of the nodes, by file name
 */
public record History(List<Event> events, Map<Table, List<Row>> rows, Map<String, Path> logs) {

  public static final String EVENTS = "history.jsonl";
  public static final String DATABASE = "database.jsonl";
  public static final String LOGS = "logs";

  public static History of(List<Event> events, List<Row> rows) {
    Map<Table, List<Row>> byTable = new EnumMap<>(Table.class);
    rows.forEach(row -> byTable.computeIfAbsent(row.table(), _ -> new ArrayList<>()).add(row));
    return new History(List.copyOf(events), byTable, Map.of());
  }

  /** Reads the directory of a run. A last line that a crash truncated is ignored. */
  public static History read(Path directory) throws IOException {
    List<Event> events = new ArrayList<>();
    for (String line : completeLines(directory.resolve(EVENTS))) {
      events.add(Event.read(line));
    }
    List<Row> rows = new ArrayList<>();
    for (String line : completeLines(directory.resolve(DATABASE))) {
      rows.add(Row.read(line));
    }
    History history = of(events, rows);
    return new History(history.events, history.rows, logs(directory.resolve(LOGS)));
  }

  private static List<String> completeLines(Path file) throws IOException {
    if (!Files.exists(file)) {
      return List.of();
    }
    List<String> lines = Files.readAllLines(file);
    return lines.isEmpty() || lines.getLast().endsWith("}")
        ? lines
        : lines.subList(0, lines.size() - 1);
  }

  private static Map<String, Path> logs(Path directory) throws IOException {
    Map<String, Path> logs = new TreeMap<>();
    if (Files.isDirectory(directory)) {
      try (Stream<Path> files = Files.list(directory)) {
        files.forEach(file -> logs.put(String.valueOf(file.getFileName()), file));
      }
    }
    return logs;
  }

  public List<Row> rows(Table table) {
    return rows.getOrDefault(table, List.of());
  }
}
