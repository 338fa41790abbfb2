package carillon.api.http;

import io.helidon.http.Header;
import io.helidon.http.HeaderNames;
import io.helidon.http.HeaderValues;
import java.time.Instant;
import java.time.InstantSource;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/** The Date header, formatted once a second instead of once a request. */
final class HttpDate {

  private static final DateTimeFormatter FORMAT =
      DateTimeFormatter.ofPattern("EEE, dd MMM uuuu HH:mm:ss 'GMT'", Locale.US);

  private final InstantSource clock;
  private volatile Cached last;

  private record Cached(long second, Header header) {}

  HttpDate(InstantSource clock) {
    this.clock = clock;
    this.last = format(clock.instant().getEpochSecond());
  }

  Header now() {
    long second = clock.instant().getEpochSecond();
    Cached cached = last;
    if (cached.second() != second) {
      cached = format(second);
      last = cached;
    }
    return cached.header();
  }

  private static Cached format(long second) {
    String text = FORMAT.format(Instant.ofEpochSecond(second).atZone(ZoneOffset.UTC));
    return new Cached(second, HeaderValues.createCached(HeaderNames.DATE, text));
  }
}
