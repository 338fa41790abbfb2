package carillon.chaos.rules;

import carillon.chaos.history.Event;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.util.List;

/**
 * A cron expression as a test of one second: whether the clock in its zone then shows what it asks
 * for. Reads numbers, ranges, steps and lists in five or six fields, and knows nothing of the
 * program's own reader. A run that meets a change of the clocks is beyond it.
 */
record EverySecond(List<String> fields, ZoneId zone) {

  static EverySecond of(Event put) {
    List<String> fields = List.of(put.need("cron").trim().split("\\s+", -1));
    String zone = put.text("timezone");
    return new EverySecond(
        fields.size() == 6 ? fields : withSeconds(fields), ZoneId.of(zone == null ? "UTC" : zone));
  }

  private static List<String> withSeconds(List<String> five) {
    return List.of("0", five.get(0), five.get(1), five.get(2), five.get(3), five.get(4));
  }

  boolean fits(long epochSecond) {
    ZonedDateTime time = Instant.ofEpochSecond(epochSecond).atZone(zone);
    return fits(fields.get(0), time.getSecond(), 0)
        && fits(fields.get(1), time.getMinute(), 0)
        && fits(fields.get(2), time.getHour(), 0)
        && fits(fields.get(4), time.getMonthValue(), 1)
        && fitsDay(time);
  }

  /** Where both days are restricted, one of them is enough. */
  private boolean fitsDay(ZonedDateTime time) {
    String ofMonth = fields.get(3);
    String ofWeek = fields.get(5);
    int sunday0 = time.getDayOfWeek().getValue() % 7;
    boolean fitsMonth = fits(ofMonth, time.getDayOfMonth(), 1);
    boolean fitsWeek = fits(ofWeek, sunday0, 0) || (sunday0 == 0 && fits(ofWeek, 7, 0));
    boolean isBoth = !isAny(ofMonth) && !isAny(ofWeek);
    return isBoth ? fitsMonth || fitsWeek : fitsMonth && fitsWeek;
  }

  private static boolean isAny(String field) {
    return field.equals("*") || field.equals("?");
  }

  private static boolean fits(String field, int value, int least) {
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
