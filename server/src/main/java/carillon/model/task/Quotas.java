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
 * Divides the free seats of a node among the lanes that have something due: evenly between tenants,
 * then between types, then by priority. A lane's priority rises while it waits, and a tenth of a
 * type's share is for what would starve.
 */
public final class Quotas {

  /** Waiting that long is worth one step of priority. */
  private static final Duration STEP = Duration.ofSeconds(10);

  /** Enough for the least urgent lane to stand before the most urgent one. */
  private static final int MOST_STEPS = 10;

  /** The part of a type's share that its less urgent lanes divide among them. */
  private static final int FLOOR_PERCENT = 10;

  /**
   * To look into a lane costs a claim about as much as a few tasks do. So when there are many
   * lanes, each is given up to this many tasks at once and is looked into less often...
   */
  private static final int ENOUGH = 64;

  /** ... but only if that leaves the claim about this many lanes to look into. */
  private static final int MOST_LANES = 32;

  private Quotas() {}

  /**
   * How many tasks each may release; all shares together are never more than the seats. Lines
   * without one are absent.
   */
  public static Map<DueLane, Integer> share(List<DueLane> lines, int seats, Instant now) {
    if (lines.isEmpty()) {
      return Map.of();
    }
    Map<TenantId, Map<String, List<DueLane>>> tenants = new LinkedHashMap<>();
    for (DueLane line : lines) {
      tenants
          .computeIfAbsent(line.lane().tenant(), _ -> new TreeMap<>())
          .computeIfAbsent(line.lane().type(), _ -> new ArrayList<>())
          .add(line);
    }
    Map<DueLane, Integer> shares = new HashMap<>();
    int worthwhile = Math.clamp(seats / MOST_LANES, 1, ENOUGH);
    long turn = now.toEpochMilli();
    int tenant = 0;
    int[] ofTenants = divide(seats, tenants.size(), worthwhile, turn);
    for (Map<String, List<DueLane>> types : tenants.values()) {
      int type = 0;
      int[] ofTypes = divide(ofTenants[tenant++], types.size(), worthwhile, turn / tenants.size());
      for (List<DueLane> ofType : types.values()) {
        byUrgency(ofType, ofTypes[type++], now, shares);
      }
    }
    return shares;
  }

  /**
   * Even parts for as many parties as can be given a worthwhile one; who they are changes with
   * time, so nobody is always last.
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

  private static void byUrgency(
      List<DueLane> lines, int seats, Instant now, Map<DueLane, Integer> shares) {
    if (seats == 0) {
      return;
    }
    lines.sort(Comparator.comparingDouble((DueLane lane) -> urgency(lane, now)).reversed());
    List<DueLane> others = lines.subList(1, lines.size());
    int floor =
        others.isEmpty() ? 0 : Math.min(seats - 1, Math.max(1, seats * FLOOR_PERCENT / 100));
    shares.put(lines.getFirst(), seats - floor);
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
    return due.lane().priority() + Math.min(steps, MOST_STEPS);
  }
}
