package carillon.model.cluster;

import carillon.model.Partition;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A message from one node to the others, so that they need not wait for their next sweep. Best
 * effort: a node that misses a hint finds the work in its next sweep.
 *
 * @param from the process that sent it
 * @param due lanes with tasks that can be claimed now or soon
 */
public record Hint(String from, Set<News> news, List<Due> due) {

  /** As many as fit into one NOTIFY. */
  public static final int MAX_DUE = 150;

  /** What has changed; the receiver reads the new state itself. */
  public enum News {
    /** A node has joined, or is about to leave. */
    MEMBERS,
    /** The leader has reassigned shards. */
    SHARDS,
    /** A schedule has changed. */
    SCHEDULES
  }

  /** A lane with a task that can be claimed from that time on. */
  public record Due(Partition partition, int lane, Instant readyAt) {}

  public Hint {
    news = Set.copyOf(news);
    due = List.copyOf(due);
  }

  /** {@code from|NEWS,NEWS|day,lane,micros;day,lane,micros}. */
  public String text() {
    return from
        + "|"
        + news.stream().sorted().map(News::name).collect(Collectors.joining(","))
        + "|"
        + due.stream().map(Hint::text).collect(Collectors.joining(";"));
  }

  private static String text(Due due) {
    long micros = ChronoUnit.MICROS.between(Instant.EPOCH, due.readyAt());
    return due.partition().day().toEpochDay() + "," + due.lane() + "," + micros;
  }

  /** Ignores what it cannot parse: anyone who can write to the database can send a NOTIFY. */
  public static Optional<Hint> read(String text) {
    String[] parts = text.split("\\|", -1);
    if (parts.length != 3) {
      return Optional.empty();
    }
    Set<News> news = EnumSet.noneOf(News.class);
    for (News each : News.values()) {
      if (List.of(parts[1].split(",", -1)).contains(each.name())) {
        news.add(each);
      }
    }
    List<Due> due = new ArrayList<>();
    for (String each : parts[2].isEmpty() ? new String[0] : parts[2].split(";", -1)) {
      readDue(each).ifPresent(due::add);
    }
    return Optional.of(new Hint(parts[0], news, due));
  }

  private static Optional<Due> readDue(String text) {
    String[] numbers = text.split(",", -1);
    if (numbers.length != 3) {
      return Optional.empty();
    }
    try {
      return Optional.of(
          new Due(
              new Partition(LocalDate.ofEpochDay(Long.parseLong(numbers[0]))),
              Integer.parseInt(numbers[1]),
              Instant.EPOCH.plus(Long.parseLong(numbers[2]), ChronoUnit.MICROS)));
    } catch (NumberFormatException | DateTimeException | ArithmeticException e) {
      return Optional.empty();
    }
  }
}
