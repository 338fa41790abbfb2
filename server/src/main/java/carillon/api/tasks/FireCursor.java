package carillon.api.tasks;

import carillon.store.schedules.RecordedFire;
import java.time.Instant;
import java.time.LocalDateTime;

/** The text inside the cursor of a list of fires. */
public final class FireCursor {

  private FireCursor() {}

  public static String text(RecordedFire.Position position) {
    return position.at() + " " + position.local();
  }

  /** Cursors are sealed, so this is what {@link #text} wrote. */
  public static RecordedFire.Position read(String text) {
    String[] parts = text.split(" ", 2);
    return new RecordedFire.Position(Instant.parse(parts[0]), LocalDateTime.parse(parts[1]));
  }
}
