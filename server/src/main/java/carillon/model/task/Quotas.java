package carillon.model.task;

import carillon.model.TenantId;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Divides the free seats of a node among the lanes with due tasks: evenly between tenants, then
 * between types, then by priority. A lane's priority rises while it waits, and a tenth of a type's
 * share is reserved for lanes that would otherwise starve.
 */
public final class Quotas {

  /** A lane gains one step of priority for each of these intervals that it waits. */
  private static final Duration STEP = Duration.ofSeconds(10);

  /** Enough to move the least urgent lane ahead of the most urgent one. */
  private static final int MAX_STEPS = 10;

  /** The part of a type's share that is divided among all but its most urgent lane. */
  private static final int FLOOR_PERCENT = 10;

  /**
   * Visiting a lane costs a claim about as much as a few tasks do. So with many lanes, a lane gets
   * up to this many tasks at a time and is visited less often.
   */
  private static final int MAX_WORTHWHILE = 64;

  /** The share of a lane shrinks below {@link #MAX_WORTHWHILE} to visit about this many lanes. */
  private static final int LANES_PER_CLAIM = 32;

  private Quotas() {}

  /**
   * How many tasks each lane may release. The shares never add up to more than the seats, and lanes
   * without a share are absent.
   */
  public static Map<DueLane, Integer> share(List<DueLane> lanes, int seats, Instant now) {
    if (lanes.isEmpty()) {
      return Map.of();
    }
    Map<TenantId, Map<String, List<DueLane>>> tenants = new LinkedHashMap<>();
    for (DueLane due : lanes) {
      tenants
          .computeIfAbsent(due.lane().tenant(), _ -> new TreeMap<>())
          .computeIfAbsent(due.lane().type(), _ -> new ArrayList<>())
          .add(due);
    }
    Map<DueLane, Integer> shares = new HashMap<>();
    int worthwhile = Math.clamp(seats / LANES_PER_CLAIM, 1, MAX_WORTHWHILE);
    long turn = now.toEpochMilli();
    int tenant = 0;
    int[] ofTenants = divide(seats, tenants.size(), worthwhile, turn);
    for (Map<String, List<DueLane>> types : tenants.values()) {
      int type = 0;
      int[] ofTypes = divide(ofTenants[tenant++], types.size(), worthwhile, turn / tenants.size());
      for (List<DueLane> ofType : types.values()) {
        shareByUrgency(ofType, ofTypes[type++], now, shares);
      }
    }
    return shares;
  }

  /**
   * Divides the seats evenly among as many parties as can get a worthwhile part. The turn decides
   * where to start, so no party is always last.
   */
  private static int[] divide(int seats, int parties, int worthwhile, long turn) {
    int[] parts = new int[parties];
    int served = Math.clamp(seats / worthwhile, 1, parties);
    int first = Math.floorMod(turn, parties);
    for (int i = 0; i < served; i++) {
      parts[(first + i) % parties] = seats / served + (i < seats % served ? 1 : 0);
    }
    return parts;
  }

  private static void shareByUrgency(
      List<DueLane> lanes, int seats, Instant now, Map<DueLane, Integer> shares) {
    if (seats == 0) {
      return;
    }
    lanes.sort(Comparator.comparingDouble((DueLane lane) -> urgency(lane, now)).reversed());
    List<DueLane> others = lanes.subList(1, lanes.size());
    int floor =
        others.isEmpty() ? 0 : Math.min(seats - 1, Math.max(1, seats * FLOOR_PERCENT / 100));
    shares.put(lanes.getFirst(), seats - floor);
    for (int i = 0; i < others.size(); i++) {
      int part = floor / others.size() + (i < floor % others.size() ? 1 : 0);
      if (part > 0) {
        shares.put(others.get(i), part);
      }
    }
  }

  private static double urgency(DueLane due, Instant now) {
    Duration waited = Duration.between(due.from(), now);
    double steps = (double) Math.max(0, waited.toMillis()) / STEP.toMillis();
    return due.lane().priority() + Math.min(steps, MAX_STEPS);
  }
}
