package carillon.model.cron;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import carillon.model.cron.NominalTime.Shift;
import carillon.model.cron.Recurrence.Reading;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.Year;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.zone.ZoneOffsetTransition;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Compares with a brute-force search that tries every day: 2,000 expressions in 12 zones over 3
 * years.
 *
 * <p>If an expression fires rarely, all its nominal times in the 3 years are compared; otherwise,
 * 60 after each of three random instants. In addition, all nominal times around every clock change
 * are compared under all six DST rules.
 */
@Tag("slow")
class CronBruteForceTest {

  private static final long SEED = 20270328;
  private static final int EXPRESSIONS = 2_000;
  private static final int YEARS = 3;
  private static final int RARE = 1_500;
  private static final int SAMPLE = 60;

  /** A zone and the first of three years with interesting clock changes. */
  private record Place(String zone, int year) {}

  private static final List<Place> PLACES =
      List.of(
          new Place("Europe/Berlin", 2026),
          new Place("America/New_York", 2027),
          new Place("Australia/Sydney", 2026),
          new Place("Australia/Lord_Howe", 2027), // half an hour
          new Place("Antarctica/Troll", 2026), // two hours
          new Place("Africa/Casablanca", 2026), // back for Ramadan
          new Place("America/Sao_Paulo", 2017), // at midnight, until 2019
          new Place("America/Santiago", 2021), // a week later in 2022
          new Place("Europe/Istanbul", 2015), // permanent summer time since 2016
          new Place("Asia/Pyongyang", 2015), // half an hour back in 2015
          new Place("Pacific/Apia", 2010), // no 30 December in 2011
          new Place("Asia/Kolkata", 2026)); // no changes

  private static final List<DstRule> RULES =
      Stream.of(DstRule.Gap.values())
          .flatMap(
              gap -> Stream.of(DstRule.Overlap.values()).map(overlap -> new DstRule(gap, overlap)))
          .toList();

  private final Random random = new Random(SEED);
  private final Map<Shift, Long> compared = new EnumMap<>(Shift.class);
  private int fullComparisons;
  private int samples;
  private int changes;

  @Test
  void next_times_equal_those_of_the_brute_force_search() {
    int neverFiring = 0;
    List<KnownCron> crons = new ArrayList<>();
    while (crons.size() < EXPRESSIONS) {
      KnownCron cron = KnownCron.random(random);
      if (fires(cron)) {
        crons.add(cron);
      } else {
        neverFiring++;
      }
    }

    for (int i = 0; i < crons.size(); i++) {
      KnownCron cron = crons.get(i);
      Recurrence recurrence = read(cron);
      for (Place place : PLACES) {
        compare(cron, recurrence, place, i);
      }
    }

    System.out.printf(
        "%d expressions in %d zones (%d more never fire): %d full comparisons of %d years, %d"
            + " samples, %d clock changes; nominal times compared: %s%n",
        crons.size(),
        PLACES.size(),
        neverFiring,
        fullComparisons,
        YEARS,
        samples,
        changes,
        compared);
    assertThat(compared).containsOnlyKeys(Shift.values());
    assertThat(fullComparisons + samples / 3).isEqualTo(EXPRESSIONS * PLACES.size());
  }

  private static boolean fires(KnownCron cron) {
    boolean fires = cron.everFires();
    Reading reading = Recurrence.read(cron.text(), "");
    boolean agrees =
        fires
            ? reading instanceof Reading.Valid
            : reading instanceof Reading.Invalid(String code, _) && code.equals("never_fires");
    assertThat(agrees).as("%s is %s", cron.text(), reading).isTrue();
    return fires;
  }

  private static Recurrence read(KnownCron cron) {
    return ((Reading.Valid) Recurrence.read(cron.text(), "")).recurrence();
  }

  private void compare(KnownCron cron, Recurrence recurrence, Place place, int turn) {
    ZoneId zone = ZoneId.of(place.zone());
    int year = place.year();
    Instant start = Year.of(year).atDay(1).atStartOfDay(ZoneOffset.UTC).toInstant();
    Instant end = Year.of(year + YEARS).atDay(1).atStartOfDay(ZoneOffset.UTC).toInstant();
    LocalDate firstDay = LocalDate.of(year, 1, 1);
    long days = firstDay.datesUntil(firstDay.plusYears(YEARS)).filter(cron.days()).count();
    DstRule dst = RULES.get((turn + year) % RULES.size());
    var comparison = new Comparison(cron, recurrence, zone, dst);
    if (days * cron.times().length <= RARE) {
      comparison.compare(start, end);
      fullComparisons++;
    } else {
      for (int i = 0; i < 3; i++) {
        long offset = random.nextLong(Duration.between(start, end).toSeconds());
        comparison.compareFrom(start.plusSeconds(offset));
        samples++;
      }
    }
    for (DstRule rule : RULES) {
      aroundChanges(new Comparison(cron, recurrence, zone, rule), start, end);
    }
  }

  private void aroundChanges(Comparison comparison, Instant start, Instant end) {
    ZoneOffsetTransition change = comparison.zone().getRules().nextTransition(start);
    while (change != null && change.getInstant().isBefore(end)) {
      changes++;
      comparison.compareAround(change);
      change = comparison.zone().getRules().nextTransition(change.getInstant());
    }
  }

  /** One expression in one zone under one DST rule, computed both ways. */
  private class Comparison {

    private final KnownCron cron;
    private final Timetable timetable;
    private final BruteForce bruteForce;

    Comparison(KnownCron cron, Recurrence recurrence, ZoneId zone, DstRule dst) {
      this.cron = cron;
      this.timetable = recurrence.timetable(zone, dst, Instant.EPOCH);
      this.bruteForce = new BruteForce(cron, zone, dst);
    }

    ZoneId zone() {
      return bruteForce.zone();
    }

    /** Both ends of the gap or overlap, with an hour or about 50 times on either side. */
    void compareAround(ZoneOffsetTransition change) {
      Instant at = change.getInstant();
      Duration length = change.getDuration().abs();
      if (cron.times().length <= 24 * 20) {
        Duration around = length.plusHours(1);
        compare(at.minus(around), at.plus(around));
        return;
      }
      Duration around = Duration.ofDays(50).dividedBy(cron.times().length);
      for (Instant center : List.of(at.minus(length), at, at.plus(length))) {
        compare(center.minus(around), center.plus(around));
      }
    }

    void compareFrom(Instant after) {
      Instant until = after;
      for (int i = 0; i < SAMPLE; i++) {
        until = timetable.next(until).getFirst().at();
      }
      compare(after, until);
    }

    void compare(Instant after, Instant until) {
      List<NominalTime> found = new ArrayList<>();
      List<NominalTime> next = timetable.next(after);
      while (!next.isEmpty() && !next.getFirst().at().isAfter(until)) {
        found.addAll(next);
        next = timetable.next(next.getFirst().at());
      }
      List<NominalTime> expected = bruteForce.between(after, until);
      if (!found.equals(expected)) {
        fail(
            "%s in %s by %s from %s to %s:%n%s%nbut trying every day finds%n%s",
            cron.text(), zone(), bruteForce.dst(), after, until, head(found), head(expected));
      }
      for (NominalTime time : found) {
        compared.merge(time.shift(), 1L, Long::sum);
      }
    }

    private static List<NominalTime> head(List<NominalTime> times) {
      return times.subList(0, Math.min(times.size(), 10));
    }
  }
}
