package carillon.store.stats;

import carillon.model.Slot;
import carillon.store.catalog.Slots;
import carillon.store.db.Column;
import carillon.store.db.Db;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Where something may be due: in today's slot and yesterday's in every lane, in others only where
 * the last census found something. To look into every old slot, and every one that was opened
 * before its day, for every lane would be many looks.
 */
final class DueSlots {

  /** Lanes of other slots that are looked at, each slot's for itself. */
  static final int MOST_LOOKS = 20_000;

  private final Db db;
  private final Slots slots;

  DueSlots(Db db, Slots slots) {
    this.db = db;
    this.slots = slots;
  }

  private static final String WAITING =
      """
      /* DueSlots.waiting */
      SELECT slot, lane
      FROM carillon.waiting
      WHERE slot = ANY (?)
        AND lane = ANY (?)
      ORDER BY slot, lane
      LIMIT ?
      """;

  /**
   * What to look at.
   *
   * @param isAll whether nothing was left out because there is too much
   */
  record Looks(Map<Slot, List<Integer>> lanes, boolean isAll) {}

  /**
   * Of these lanes, which to look at in which slot. Left out are the latest slots first: those that
   * were opened before their day, as a rule, where most is for later.
   */
  Looks of(Collection<Integer> lanes, Instant now) {
    if (lanes.isEmpty()) {
      return new Looks(Map.of(), true);
    }
    Set<Slot> recent = Set.of(Slot.of(now), Slot.of(now.minus(Duration.ofDays(1))));
    List<Slot> open = slots.open(now);
    List<Slot> others = open.stream().filter(slot -> !recent.contains(slot)).toList();
    List<Waiting> found = waiting(others, lanes);
    Map<Slot, List<Integer>> wanted = new TreeMap<>();
    found.stream()
        .limit(MOST_LOOKS)
        .forEach(
            each -> wanted.computeIfAbsent(each.slot(), _ -> new ArrayList<>()).add(each.lane()));
    open.stream().filter(recent::contains).forEach(slot -> wanted.put(slot, List.copyOf(lanes)));
    return new Looks(wanted, found.size() <= MOST_LOOKS);
  }

  private record Waiting(Slot slot, int lane) {}

  /** One more than are looked at, if there are more. */
  private List<Waiting> waiting(List<Slot> others, Collection<Integer> lanes) {
    return db.ask(
        tx ->
            tx.query(
                WAITING,
                row ->
                    new Waiting(
                        new Slot(row.getObject("slot", LocalDate.class)), row.getInt("lane")),
                Column.dates(others, Slot::day),
                Column.ints(lanes, lane -> lane),
                MOST_LOOKS + 1));
  }
}
