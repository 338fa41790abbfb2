package carillon.api.tasks;

import carillon.store.schedules.RecordedFire;
import java.time.Instant;
import java.time.LocalDateTime;

/** Where a list of fires goes on, as text inside of a cursor. */
public final class FirePlace {

  private FirePlace() {}

  public static String text(RecordedFire.Position moment) {
    return moment.at() + " " + moment.local();
  }

  /** Only we seal cursors, so this is what {@link #text} wrote. */
  public static RecordedFire.Position read(String text) {
    String[] parts = text.split(" ", 2);
    return new RecordedFire.Position(Instant.parse(parts[0]), LocalDateTime.parse(parts[1]));
  }
}
