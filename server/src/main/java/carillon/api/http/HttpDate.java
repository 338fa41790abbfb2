package carillon.api.http;

import io.helidon.http.Header;
import io.helidon.http.HeaderNames;
import io.helidon.http.HeaderValues;
import java.time.Instant;
import java.time.InstantSource;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/** The Date header, made once a second and not once a request. */
final class HttpDate {

  private static final DateTimeFormatter FORMAT =
      DateTimeFormatter.ofPattern("EEE, dd MMM uuuu HH:mm:ss 'GMT'", Locale.US);

  private final InstantSource clock;
  private volatile Made last;

  private record Made(long second, Header header) {}

  HttpDate(InstantSource clock) {
    this.clock = clock;
    this.last = make(clock.instant().getEpochSecond());
  }

  Header now() {
    long second = clock.instant().getEpochSecond();
    Made made = last;
    if (made.second() != second) {
      made = make(second);
      last = made;
    }
    return made.header();
  }

  private static Made make(long second) {
    String text = FORMAT.format(Instant.ofEpochSecond(second).atZone(ZoneOffset.UTC));
    return new Made(second, HeaderValues.createCached(HeaderNames.DATE, text));
  }
}
