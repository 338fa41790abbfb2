package carillon.chaos;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What the command line asks for.
 *
 * @param seconds of faults for each seed, or of joins and leaves
 * @param mutants their names; {@code all} or {@code none} alone
 * @param joins let nodes join and leave instead of breaking them
 * @param keep where everything stays; null removes it if all is well
 * @param oldProgram a checkout whose program is the last node; null for none
 * @param out where results go
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
      Results of everything go to chaos/results, those of less to chaos/target/results.
      Ends with 0 if all is well, 1 if a rule is broken or a mutant lives, 2 if the options are wrong,
      3 if too little happened, or the harness failed, to say anything.
      """;

  static Options parse(String... arguments) {
    List<Long> seeds = List.of(1L, 2L, 3L);
    @Nullable Integer seconds = null;
    List<String> mutants = List.of(ALL);
    boolean joins = false;
    boolean whole = true;
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
        default -> throw new IllegalArgumentException("unknown option " + name);
      }
      whole &= name.equals("--joins") || name.equals("--keep");
    }
    if (oldProgram != null && !oldProgram.resolve("carillon").toFile().canExecute()) {
      throw new IllegalArgumentException("there is no program " + oldProgram.resolve("carillon"));
    }
    return new Options(
        joins && seeds.size() > 1 ? seeds.subList(0, 1) : seeds,
        seconds != null ? seconds : joins ? JOIN_SECONDS : SECONDS,
        mutants,
        joins,
        keep,
        oldProgram,
        out != null ? out : Path.of(whole ? "chaos/results" : "chaos/target/results"));
  }

  /** What was chosen, without where on this machine anything is. */
  String shown() {
    return "seeds %s, %d s of faults, mutants %s, %s"
        .formatted(
            seeds.stream().map(Long::toUnsignedString).toList(),
            seconds,
            mutants,
            oldProgram == null ? "one program" : "the last node of an older program");
  }

  /** The command line, in the same way. */
  static String shown(String... arguments) {
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
        throw new IllegalArgumentException("\"" + seed + "\" is not a seed: a number of 64 bits");
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
      // the same answer as for a number that is too small
    }
    throw new IllegalArgumentException(name + " must be a number from 1 to 86400");
  }

  private static String value(String[] arguments, int index) {
    if (index == arguments.length) {
      throw new IllegalArgumentException(arguments[index - 1] + " needs a value");
    }
    return arguments[index];
  }
}
