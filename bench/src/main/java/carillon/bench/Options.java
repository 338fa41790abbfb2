package carillon.bench;

import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/**
 * What the command line asks for.
 *
 * @param only scenarios to run; empty means all
 * @param statements print where PostgreSQL's time went, after each scenario
 * @param server more options for {@code ./carillon server}
 * @param out where results go
 */
record Options(boolean quick, Set<String> only, boolean statements, List<String> server, Path out) {

  static final String USAGE =
      """
      bench/run [--quick] [--only drain,http] [--statements] [--server "--concurrency 4096"] [--out DIR]
      """;

  static Options parse(String... arguments) {
    boolean quick = false;
    boolean statements = false;
    Set<String> only = Set.of();
    List<String> server = List.of();
    Path out = Path.of("bench/results");
    for (int i = 0; i < arguments.length; i++) {
      switch (arguments[i]) {
        case "--quick" -> quick = true;
        case "--statements" -> statements = true;
        case "--only" -> only = Set.of(value(arguments, ++i).split(",", -1));
        case "--server" -> server = List.of(value(arguments, ++i).split(" ", -1));
        case "--out" -> out = Path.of(value(arguments, ++i));
        default -> throw new IllegalArgumentException("unknown option " + arguments[i]);
      }
    }
    return new Options(quick, only, statements, server, out);
  }

  private static String value(String[] arguments, int index) {
    if (index == arguments.length) {
      throw new IllegalArgumentException(arguments[index - 1] + " needs a value");
    }
    return arguments[index];
  }
}
