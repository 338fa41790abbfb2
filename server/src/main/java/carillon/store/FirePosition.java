package carillon.store;

import java.time.Instant;
import java.time.LocalDateTime;

/** Where a page of a schedule's fires ended. */
public record FirePosition(Instant at, LocalDateTime local) {

  static final FirePosition END =
      new FirePosition(
          Instant.parse("9999-12-31T23:59:59Z"), LocalDateTime.parse("9999-12-31T23:59:59"));
}
