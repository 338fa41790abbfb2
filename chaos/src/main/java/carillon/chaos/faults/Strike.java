package carillon.chaos.faults;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;

/**
 * A fault that is going to happen.
 *
 * @param at after the faults begin
 * @param length how long it lasts, or how long what it stopped stays away
 * @param node which one, from 0; of no meaning where it hits others
 * @param draw chance for what else has to be chosen
 */
public record Strike(Fault fault, Duration at, Duration length, int node, long draw) {

  private static final int SHORTEST_GAP_MILLIS = 1_800;
  private static final int LONGEST_GAP_MILLIS = 3_200;

  public static Strike of(Fault fault, Duration at, Duration length, int node) {
    return new Strike(fault, at, length, node, 1);
  }

  private Duration end() {
    return at.plus(length);
  }

  /**
   * Faults for a while: drawn from a deck of all kinds, so that each comes before any comes twice
   * as often as it should; overlapping, but never two on the same node or the same database.
   */
  public static List<Strike> plan(SplittableRandom random, Duration length, int nodes) {
    List<Strike> plan = new ArrayList<>();
    List<Fault> deck = new ArrayList<>();
    long at = 500;
    while (at < length.toMillis()) {
      if (deck.size() < 4) {
        deck.addAll(shuffled(random));
      }
      Strike next = null;
      for (int i = 0; i < deck.size() && next == null; i++) {
        Strike drawn = draw(deck.get(i), at, nodes, random);
        if (plan.stream().noneMatch(drawn::isInTheWayOf)) {
          deck.remove(i);
          next = drawn;
        }
      }
      if (next == null) {
        at += 300;
        continue;
      }
      plan.add(next);
      at += random.nextInt(SHORTEST_GAP_MILLIS, LONGEST_GAP_MILLIS);
    }
    plan.sort(Comparator.comparing(Strike::at));
    return List.copyOf(plan);
  }

  private static Strike draw(Fault fault, long at, int nodes, SplittableRandom random) {
    return new Strike(
        fault,
        Duration.ofMillis(at),
        Duration.ofMillis(random.nextInt(fault.shortestMillis, fault.longestMillis)),
        random.nextInt(nodes),
        random.nextLong());
  }

  private static List<Fault> shuffled(SplittableRandom random) {
    List<Fault> deck =
        new ArrayList<>(
            Stream.of(Fault.values())
                .flatMap(f -> Stream.generate(() -> f).limit(f.cards))
                .toList());
    for (int i = deck.size() - 1; i > 0; i--) {
      int j = random.nextInt(i + 1);
      Fault held = deck.get(i);
      deck.set(i, deck.get(j));
      deck.set(j, held);
    }
    return deck;
  }

  private boolean isInTheWayOf(Strike other) {
    if (at.compareTo(other.end()) >= 0 || other.at.compareTo(end()) >= 0) {
      return false;
    }
    Fault.Hits mine = fault.hits;
    Fault.Hits its = other.fault.hits;
    if (mine == Fault.Hits.NOBODY || its == Fault.Hits.NOBODY) {
      return fault == other.fault;
    }
    if (mine == Fault.Hits.DATABASE || its == Fault.Hits.DATABASE) {
      return mine == its;
    }
    return mine == Fault.Hits.ALL || its == Fault.Hits.ALL || node == other.node;
  }
}
