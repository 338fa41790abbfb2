package carillon.chaos;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The parsed command line.
 *
 * @param seconds of faults per seed, or of joins and leaves
 * @param mutants their names; or only {@code all} or {@code none}
 * @param joins whether nodes join and leave instead of failing
 * @param keep a directory for the files of the run; null for a temporary one, which is deleted if
 *     the run passes
 * @param oldProgram a checkout whose program the last node runs; null for none
 * @param out directory of the report
 */
record Options(
    List<Long> seeds,
    int seconds,
    List<String> mutants,
    boolean joins,
    @Nullable Path keep,
    @Nullable Path oldProgram,
    Path out) {

  static final String ALL = "all";
  static final String NONE = "none";

  private static final Set<String> PATHS = Set.of("--keep", "--old-program", "--out");

  private static final int SECONDS = 75;
  private static final int JOIN_SECONDS = 300;

  static final String USAGE =
      """
      chaos/run [--seeds 1,2,3] [--seconds 75] [--mutants all|none|M1,M9] [--keep DIR]
                [--old-program DIR] [--out DIR]
      chaos/run --joins [--seeds 1] [--seconds 300]
      The report of a full run goes to chaos/results, that of a partial one to chaos/target/results.
      Exit codes: 0 passed; 1 a rule was broken or a mutant survived; 2 wrong options;
      3 inconclusive, because there was too little exposure or the harness failed.
      """;

  static Options parse(String... arguments) {
    List<Long> seeds = List.of(1L, 2L, 3L);
    @Nullable Integer seconds = null;
    List<String> mutants = List.of(ALL);
    boolean joins = false;
    boolean isFull = true;
    @Nullable Path keep = null;
    @Nullable Path oldProgram = null;
    @Nullable Path out = null;
    for (int i = 0; i < arguments.length; i++) {
      String name = arguments[i];
      switch (name) {
        case "--seeds" -> seeds = seeds(value(arguments, ++i));
        case "--seconds" -> seconds = positive(name, value(arguments, ++i));
        case "--mutants" -> mutants = List.of(value(arguments, ++i).split(",", -1));
        case "--joins" -> joins = true;
        case "--keep" -> keep = Path.of(value(arguments, ++i)).toAbsolutePath();
        case "--old-program" -> oldProgram = Path.of(value(arguments, ++i)).toAbsolutePath();
        case "--out" -> out = Path.of(value(arguments, ++i));
        default -> throw new IllegalArgumentException("Unknown option " + name + ".");
      }
      isFull &= name.equals("--joins") || name.equals("--keep");
    }
    if (oldProgram != null && !oldProgram.resolve("carillon").toFile().canExecute()) {
      throw new IllegalArgumentException(
          "There is no program " + oldProgram.resolve("carillon") + ".");
    }
    return new Options(
        joins && seeds.size() > 1 ? seeds.subList(0, 1) : seeds,
        seconds != null ? seconds : joins ? JOIN_SECONDS : SECONDS,
        mutants,
        joins,
        keep,
        oldProgram,
        out != null ? out : Path.of(isFull ? "chaos/results" : "chaos/target/results"));
  }

  /** The options without paths of this machine. */
  String description() {
    return "seeds %s, %d s of faults, mutants %s, %s"
        .formatted(
            seeds.stream().map(Long::toUnsignedString).toList(),
            seconds,
            mutants,
            oldProgram == null ? "one program" : "an old program on the last node");
  }

  /** The command line without paths of this machine. */
  static String withoutPaths(String... arguments) {
    List<String> words = new ArrayList<>();
    for (int i = 0; i < arguments.length; i++) {
      boolean isPath = i > 0 && PATHS.contains(arguments[i - 1]);
      words.add(isPath ? "DIR" : arguments[i]);
    }
    return String.join(" ", words);
  }

  private static List<Long> seeds(String list) {
    List<Long> seeds = new ArrayList<>();
    for (String seed : list.split(",", -1)) {
      try {
        seeds.add(Long.parseUnsignedLong(seed.strip()));
      } catch (NumberFormatException _) {
        throw new IllegalArgumentException(
            "\"" + seed + "\" is not a seed. A seed is a number of 64 bits.");
      }
    }
    return List.copyOf(seeds);
  }

  private static int positive(String name, String text) {
    try {
      int number = Integer.parseInt(text);
      if (number > 0 && number <= 86_400) {
        return number;
      }
    } catch (NumberFormatException _) {
      // reported like a number out of range
    }
    throw new IllegalArgumentException(name + " must be a number from 1 to 86400.");
  }

  private static String value(String[] arguments, int index) {
    if (index == arguments.length) {
      throw new IllegalArgumentException(arguments[index - 1] + " needs a value.");
    }
    return arguments[index];
  }
}
