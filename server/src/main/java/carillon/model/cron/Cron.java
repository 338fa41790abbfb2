package carillon.model.cron;

import java.time.Instant;
import java.time.ZoneId;

/** A cron expression: fires when the local time in a zone matches all its fields. */
public final class Cron implements Recurrence {

  private final CronFields fields;
  private final CronCalendar calendar;

  Cron(CronFields fields, CronCalendar calendar) {
    this.fields = fields;
    this.calendar = calendar;
  }

  @Override
  public String description() {
    return new CronSentence(fields).text();
  }

  @Override
  public Timetable timetable(ZoneId zone, DstRule dst, Instant anchor) {
    return new ZonedTimetable(calendar, zone, dst);
  }
}
