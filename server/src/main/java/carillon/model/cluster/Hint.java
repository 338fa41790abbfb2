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
 * What a node tells the others so that they need not wait for their next look. None of it must
 * arrive: who hears nothing finds out a moment later.
 *
 * @param from which process says so
 * @param due what can be claimed, or soon can
 */
public record Hint(String from, Set<News> news, List<Due> due) {

  /** As many fit into what a database lets nodes tell one another at once. */
  public static final int MOST_DUE = 150;

  /** That something changed, and one has to look what. */
  public enum News {
    /** A node came, or is about to go. */
    MEMBERS,
    /** The leader shared the shards out anew. */
    SHARDS,
    /** Schedules were changed. */
    SCHEDULES
  }

  /** Something in a lane that can be claimed from then on. */
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

  /** Whoever may write to the database can say anything there: what makes no sense is left out. */
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
