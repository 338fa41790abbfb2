package carillon.model.cron;

import java.time.ZoneId;
import java.time.zone.ZoneRulesProvider;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** The time zones that schedules may name. */
public final class Zones {

  /** An abbreviation has no place, and some mean another time in winter than in summer. */
  private static final Set<String> NAMES =
      ZoneId.getAvailableZoneIds().stream()
          .filter(name -> name.contains("/") || name.equals("UTC") || name.equals("GMT"))
          .filter(name -> !name.startsWith("SystemV/"))
          .collect(Collectors.toUnmodifiableSet());

  private Zones() {}

  public static Optional<ZoneId> find(String name) {
    return NAMES.contains(name) ? Optional.of(ZoneId.of(name)) : Optional.empty();
  }

  /** Which edition of the rules of all zones this Java has, such as 2025b. */
  public static String dataVersion() {
    return ZoneRulesProvider.getVersions("UTC").lastKey();
  }
}
