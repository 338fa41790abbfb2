package carillon.store.db;

import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.LocalDate;
import java.time.temporal.ChronoUnit;
import java.util.UUID;

/** How PostgreSQL writes values in its binary format, in arrays as well as in COPY. */
public final class Binary {

  /** In the place of a length. */
  public static final int NULL = -1;

  static final int UUID_BYTES = 2 * Long.BYTES;

  private static final LocalDate EPOCH_DAY = LocalDate.of(2000, 1, 1);
  private static final Instant EPOCH = Instant.parse("2000-01-01T00:00:00Z");

  private Binary() {}

  public static long micros(Instant instant) {
    return ChronoUnit.MICROS.between(EPOCH, instant);
  }

  public static Instant instant(long micros) {
    return EPOCH.plus(micros, ChronoUnit.MICROS);
  }

  static int days(LocalDate day) {
    return Math.toIntExact(ChronoUnit.DAYS.between(EPOCH_DAY, day));
  }

  static ByteBuffer put(ByteBuffer out, UUID id) {
    return out.putLong(id.getMostSignificantBits()).putLong(id.getLeastSignificantBits());
  }
}
