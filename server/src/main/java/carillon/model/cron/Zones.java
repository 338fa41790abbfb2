package carillon.model.cron;

import java.time.ZoneId;
import java.time.zone.ZoneRulesProvider;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** The time zones that schedules may use. */
public final class Zones {

  /** Without abbreviations, which are ambiguous, and some of which do not observe DST. */
  private static final Set<String> NAMES =
      ZoneId.getAvailableZoneIds().stream()
          .filter(name -> name.contains("/") || name.equals("UTC") || name.equals("GMT"))
          .filter(name -> !name.startsWith("SystemV/"))
          .collect(Collectors.toUnmodifiableSet());

  private Zones() {}

  public static Optional<ZoneId> find(String name) {
    return NAMES.contains(name) ? Optional.of(ZoneId.of(name)) : Optional.empty();
  }

  /** The version of this JVM's time zone data, such as 2025b. */
  public static String dataVersion() {
    return ZoneRulesProvider.getVersions("UTC").lastKey();
  }
}
