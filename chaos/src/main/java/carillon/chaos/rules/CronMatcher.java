package carillon.chaos.rules;

import carillon.chaos.history.Event;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.util.List;

/**
 * A second implementation of cron expressions, independent of the program's: tests whether one
 * second matches. Supports numbers, ranges, steps and lists in five or six fields, but not runs
 * across a DST change.
 */
record CronMatcher(List<String> fields, ZoneId zone) {

  static CronMatcher of(Event put) {
    List<String> fields = List.of(put.need("cron").trim().split("\\s+", -1));
    String zone = put.text("timezone");
    return new CronMatcher(
        fields.size() == 6 ? fields : withSeconds(fields), ZoneId.of(zone == null ? "UTC" : zone));
  }

  private static List<String> withSeconds(List<String> five) {
    return List.of("0", five.get(0), five.get(1), five.get(2), five.get(3), five.get(4));
  }

  boolean matches(long epochSecond) {
    ZonedDateTime time = Instant.ofEpochSecond(epochSecond).atZone(zone);
    return matches(fields.get(0), time.getSecond(), 0)
        && matches(fields.get(1), time.getMinute(), 0)
        && matches(fields.get(2), time.getHour(), 0)
        && matches(fields.get(4), time.getMonthValue(), 1)
        && matchesDay(time);
  }

  /** If both day fields are restricted, matching one of them is enough. */
  private boolean matchesDay(ZonedDateTime time) {
    String ofMonth = fields.get(3);
    String ofWeek = fields.get(5);
    int sunday0 = time.getDayOfWeek().getValue() % 7;
    boolean matchesMonth = matches(ofMonth, time.getDayOfMonth(), 1);
    boolean matchesWeek = matches(ofWeek, sunday0, 0) || (sunday0 == 0 && matches(ofWeek, 7, 0));
    boolean isBoth = !isAny(ofMonth) && !isAny(ofWeek);
    return isBoth ? matchesMonth || matchesWeek : matchesMonth && matchesWeek;
  }

  private static boolean isAny(String field) {
    return field.equals("*") || field.equals("?");
  }

  private static boolean matches(String field, int value, int least) {
    for (String part : field.split(",", -1)) {
      String[] step = part.split("/", -1);
      String[] range = step[0].split("-", -1);
      boolean isAny = isAny(step[0]);
      int from = isAny ? least : Integer.parseInt(range[0]);
      int to =
          isAny || (range.length == 1 && step.length == 2)
              ? Integer.MAX_VALUE
              : Integer.parseInt(range[range.length - 1]);
      int by = step.length == 2 ? Integer.parseInt(step[1]) : 1;
      if (value >= from && value <= to && (value - from) % by == 0) {
        return true;
      }
    }
    return false;
  }
}
