package carillon.chaos.faults;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;

/**
 * A fault of a plan.
 *
 * @param at time after the start of the plan
 * @param length how long it lasts, or how long the stopped process stays down
 * @param node index of the node, from 0; unused by faults that do not hit a single node
 * @param draw seed for further choices
 */
public record PlannedFault(Fault fault, Duration at, Duration length, int node, long draw) {

  private static final int MIN_GAP_MILLIS = 1_800;
  private static final int MAX_GAP_MILLIS = 3_200;

  public static PlannedFault of(Fault fault, Duration at, Duration length, int node) {
    return new PlannedFault(fault, at, length, node, 1);
  }

  private Duration end() {
    return at.plus(length);
  }

  /**
   * Plans faults for a while. They are drawn from a shuffled deck, so that each kind occurs as
   * often as its weight says. Faults may overlap, but never two on the same node, and never two on
   * the database.
   */
  public static List<PlannedFault> plan(SplittableRandom random, Duration length, int nodes) {
    List<PlannedFault> plan = new ArrayList<>();
    List<Fault> deck = new ArrayList<>();
    long at = 500;
    while (at < length.toMillis()) {
      if (deck.size() < 4) {
        deck.addAll(shuffled(random));
      }
      PlannedFault next = null;
      for (int i = 0; i < deck.size() && next == null; i++) {
        PlannedFault drawn = draw(deck.get(i), at, nodes, random);
        if (plan.stream().noneMatch(drawn::conflictsWith)) {
          deck.remove(i);
          next = drawn;
        }
      }
      if (next == null) {
        at += 300;
        continue;
      }
      plan.add(next);
      at += random.nextInt(MIN_GAP_MILLIS, MAX_GAP_MILLIS);
    }
    plan.sort(Comparator.comparing(PlannedFault::at));
    return List.copyOf(plan);
  }

  private static PlannedFault draw(Fault fault, long at, int nodes, SplittableRandom random) {
    return new PlannedFault(
        fault,
        Duration.ofMillis(at),
        Duration.ofMillis(random.nextInt(fault.minMillis, fault.maxMillis)),
        random.nextInt(nodes),
        random.nextLong());
  }

  private static List<Fault> shuffled(SplittableRandom random) {
    List<Fault> deck =
        new ArrayList<>(
            Stream.of(Fault.values())
                .flatMap(f -> Stream.generate(() -> f).limit(f.weight))
                .toList());
    for (int i = deck.size() - 1; i > 0; i--) {
      int j = random.nextInt(i + 1);
      Fault held = deck.get(i);
      deck.set(i, deck.get(j));
      deck.set(j, held);
    }
    return deck;
  }

  private boolean conflictsWith(PlannedFault other) {
    if (at.compareTo(other.end()) >= 0 || other.at.compareTo(end()) >= 0) {
      return false;
    }
    Fault.Scope mine = fault.scope;
    Fault.Scope its = other.fault.scope;
    if (mine == Fault.Scope.NONE || its == Fault.Scope.NONE) {
      return fault == other.fault;
    }
    if (mine == Fault.Scope.DATABASE || its == Fault.Scope.DATABASE) {
      return mine == its;
    }
    return mine == Fault.Scope.ALL_NODES || its == Fault.Scope.ALL_NODES || node == other.node;
  }
}
