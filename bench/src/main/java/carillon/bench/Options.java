package carillon.bench;

import carillon.bench.dashboard.Dashboard;
import carillon.bench.scenarios.BigBurst;
import carillon.bench.scenarios.Disk;
import carillon.bench.scenarios.Nodes;
import carillon.bench.scenarios.Now;
import carillon.bench.scenarios.Publishing;
import carillon.bench.systems.Systems;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The options of the command line.
 *
 * @param only scenarios to run; empty means all except {@link #SEPARATE} and, if quick, {@link
 *     #LONG}
 * @param systems to measure; empty means all
 * @param statements whether to print the most expensive statements after each scenario
 * @param server additional options for {@code ./carillon server}
 * @param out where results go
 */
record Options(
    boolean quick,
    Set<String> only,
    Set<String> systems,
    boolean statements,
    List<String> server,
    Path out) {

  static final List<String> SCENARIOS =
      List.of(
          "lateness",
          "drain",
          "lanes",
          "pull",
          "growth",
          "snapshot",
          Disk.NAME,
          "enqueue",
          "bulk",
          "burst",
          BigBurst.NAME,
          "http",
          Now.NAME,
          Publishing.NAME,
          "rabbitmq",
          Nodes.NAME,
          Dashboard.NAME);

  /** Run only if named with --only; each has its own page. */
  static final Set<String> SEPARATE = Set.of(Nodes.NAME, Dashboard.NAME);

  /** Left out of a quick run unless named with --only. */
  static final Set<String> LONG = Set.of(BigBurst.NAME, Publishing.NAME, "rabbitmq");

  static final List<String> SYSTEMS =
      Stream.concat(Stream.of("carillon", "sql", "raw"), Systems.PEERS.stream()).toList();

  static final String USAGE =
      """
      bench/run [--quick] [--only drain,http] [--systems carillon,sql] [--statements]
                [--server "--concurrency 4096"] [--out DIR]
      The results of a full run, and of nodes or dashboard alone, go to bench/results, all others to
      bench/target/results. The scenarios nodes and dashboard run only if named; their pages are
      nodes.md and dashboard.md. A quick run skips %s unless named with --only.
      Scenarios: %s
      Systems: %s
      """
          .formatted(
              String.join(", ", new TreeSet<>(LONG)),
              String.join(" ", SCENARIOS),
              String.join(" ", SYSTEMS));

  static Options parse(String... arguments) {
    boolean quick = false;
    boolean statements = false;
    Set<String> only = Set.of();
    Set<String> systems = Set.of();
    List<String> server = List.of();
    @Nullable Path out = null;
    for (int i = 0; i < arguments.length; i++) {
      switch (arguments[i]) {
        case "--quick" -> quick = true;
        case "--statements" -> statements = true;
        case "--only" -> only = names(SCENARIOS, value(arguments, ++i));
        case "--systems" -> systems = names(SYSTEMS, value(arguments, ++i));
        case "--server" -> server = List.of(value(arguments, ++i).split(" ", -1));
        case "--out" -> out = Path.of(value(arguments, ++i));
        default -> throw new IllegalArgumentException("unknown option " + arguments[i]);
      }
    }
    if (out == null) {
      boolean isFull =
          !quick
              && (only.isEmpty() || (only.size() == 1 && SEPARATE.containsAll(only)))
              && systems.isEmpty()
              && server.isEmpty();
      out = Path.of(isFull ? "bench/results" : "bench/target/results");
    }
    return new Options(quick, only, systems, statements, server, out);
  }

  private static Set<String> names(List<String> known, String list) {
    Set<String> names = Set.of(list.split(",", -1));
    for (String name : names) {
      if (!known.contains(name)) {
        throw new IllegalArgumentException("unknown name " + name + "; known: " + known);
      }
    }
    return names;
  }

  private static String value(String[] arguments, int index) {
    if (index == arguments.length) {
      throw new IllegalArgumentException(arguments[index - 1] + " needs a value");
    }
    return arguments[index];
  }

  boolean wants(String scenario, String system) {
    return (only.isEmpty() ? runsByDefault(scenario) : only.contains(scenario))
        && (systems.isEmpty() || systems.contains(system));
  }

  private boolean runsByDefault(String scenario) {
    return !SEPARATE.contains(scenario) && !(quick && LONG.contains(scenario));
  }
}
