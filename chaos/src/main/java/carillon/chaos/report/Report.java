package carillon.chaos.report;

import carillon.chaos.rules.Rule;
import carillon.chaos.rules.Violation;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;

/**
 * The results of all runs of the harness.
 *
 * @param facts printed first: options, commit, versions, machine
 * @param trials of mutants; empty if none were requested
 * @param errors of runs that did not finish and so are not among the seeds
 */
public record Report(
    Map<String, String> facts,
    List<Seed> seeds,
    Exposure exposure,
    List<Trial> trials,
    List<String> errors,
    Duration took) {

  private static final JsonMapper JSON =
      JsonMapper.builder().enable(SerializationFeature.INDENT_OUTPUT).build();

  /** The result of all runs. Its number is the exit status. */
  public enum Verdict {
    OK(0),
    BROKEN(1),
    INCONCLUSIVE(3);

    private final int status;

    Verdict(int status) {
      this.status = status;
    }

    public int status() {
      return status;
    }
  }

  public Verdict verdict() {
    boolean isBroken =
        seeds.stream().anyMatch(seed -> !seed.findings().isClean())
            || trials.stream().anyMatch(Trial::isFailed);
    if (isBroken) {
      return Verdict.BROKEN;
    }
    return exposure.missing().isEmpty() && problems().isEmpty() ? Verdict.OK : Verdict.INCONCLUSIVE;
  }

  private String sentence() {
    String mutants = trials.isEmpty() ? "no mutants were tried" : "no mutant survived";
    return switch (verdict()) {
      case OK -> "No rule was broken, %s, and there was enough exposure.".formatted(mutants);
      case BROKEN -> "A rule was broken, or a mutant survived.";
      case INCONCLUSIVE ->
          "No rule is known to be broken, %s, but there was too little exposure, or the harness failed."
              .formatted(trials.isEmpty() ? mutants : "no mutant is known to have survived");
    };
  }

  /** Reasons why the results prove less than they seem to. */
  private List<String> problems() {
    List<String> problems = new ArrayList<>(errors);
    for (Seed seed : seeds) {
      seed.problems().forEach(problem -> problems.add("seed " + seed.name() + ": " + problem));
      for (Rule rule : seed.findings().untried()) {
        if (rule.isOnlyForTrials()) {
          continue;
        }
        problems.add("seed " + seed.name() + ": nothing tested " + rule + ", so it proves nothing");
      }
    }
    for (Trial trial : trials) {
      if (trial.problem() != null) {
        problems.add(trial.name() + ": " + trial.problem());
      }
    }
    return problems;
  }

  /** Removes the report of an earlier run. */
  public static void clear(Path directory) throws IOException {
    if (!Files.isDirectory(directory)) {
      return;
    }
    try (DirectoryStream<Path> files =
        Files.newDirectoryStream(directory, "{latest.*,timeline-*.svg,violations.md}")) {
      for (Path file : files) {
        Files.delete(file);
      }
    }
  }

  /**
   * Writes {@code latest.md}, {@code latest.json}, a chart of each seed, and the listing of tasks
   * that broke rules.
   */
  public void write(Path directory) throws IOException {
    Files.createDirectories(directory);
    Files.writeString(directory.resolve("latest.md"), RunFacts.withoutPaths(markdown()));
    Files.writeString(directory.resolve("latest.json"), RunFacts.withoutPaths(json()));
    for (Seed seed : seeds) {
      Files.writeString(directory.resolve(chart(seed)), Timeline.of(seed));
    }
    List<String> all = new ArrayList<>();
    seeds.stream()
        .filter(seed -> !seed.findings().isClean())
        .map(ViolationListing::of)
        .forEach(all::add);
    trials.stream()
        .filter(trial -> !trial.isPassed())
        .map(Trial::listing)
        .filter(listing -> !listing.isEmpty())
        .forEach(all::add);
    String listings = String.join("\n", all);
    Path violations = directory.resolve("violations.md");
    if (listings.isEmpty()) {
      Files.deleteIfExists(violations);
    } else {
      Files.writeString(violations, RunFacts.withoutPaths(listings));
    }
  }

  private static String chart(Seed seed) {
    return "timeline-" + seed.name() + ".svg";
  }

  String markdown() {
    StringBuilder text = new StringBuilder("# Chaos report\n\n");
    text.append("**%s** %s\n\n".formatted(verdict(), sentence()));
    problems().forEach(problem -> text.append("- ").append(problem).append('\n'));
    text.append(problems().isEmpty() ? "" : "\n");
    List<List<String>> about = new ArrayList<>();
    facts.forEach((name, value) -> about.add(List.of(name, value)));
    about.add(List.of("took", took.toSeconds() + " s"));
    text.append(MarkdownTable.of(List.of("run", ""), about));
    text.append("\n## Exposure\n\n");
    text.append(
        "With no violation in n exposures, the probability of one is below 3/n, with 95 %"
            + " confidence.\n\n");
    text.append(exposures());
    text.append("\n## Rules\n\n").append(rules());
    text.append("\n## Faults\n\n").append(faults());
    text.append("\n## Figures\n\n").append(figures());
    if (!trials.isEmpty()) {
      text.append("\n## Mutants\n\n").append(mutants());
    }
    text.append("\n## Seeds\n");
    seeds.forEach(seed -> text.append("\n![Seed %s](%s)\n".formatted(seed.name(), chart(seed))));
    return text.toString();
  }

  private String exposures() {
    List<String> headings = new ArrayList<>(List.of("exposure"));
    List<Exposure> alone = new ArrayList<>();
    for (Seed seed : seeds) {
      headings.add("seed " + seed.name());
      alone.add(Exposure.of(List.of(seed.history())));
    }
    headings.addAll(List.of("total", "minimum", "", "3/n"));
    List<List<String>> rows = new ArrayList<>();
    for (Exposure.Counter counter : Exposure.Counter.values()) {
      long count = exposure.of(counter);
      List<String> row = new ArrayList<>(List.of(counter.title()));
      alone.forEach(one -> row.add(number(one.of(counter))));
      row.addAll(
          List.of(
              number(count),
              counter.minimum() == 0 ? "" : number(counter.minimum()),
              counter.minimum() == 0 ? "" : count < counter.minimum() ? "**too few**" : "enough",
              String.format(Locale.ROOT, "%.2g", exposure.bound(counter))));
      rows.add(row);
    }
    return MarkdownTable.of(headings, rows);
  }

  private static String number(long value) {
    return String.format(Locale.ROOT, "%,d", value);
  }

  private String rules() {
    List<String> headings = new ArrayList<>(List.of("rule", "violation"));
    seeds.forEach(seed -> headings.add("seed " + seed.name()));
    List<List<String>> rows = new ArrayList<>();
    for (Rule rule : Rule.values()) {
      List<String> row = new ArrayList<>(List.of(rule.toString(), rule.title()));
      for (Seed seed : seeds) {
        int found = seed.findings().of(rule).size();
        String none = seed.findings().isTried(rule) ? "0" : "not tested";
        row.add(found == 0 ? none : rule.isWarning() ? found + " (warning)" : "**" + found + "**");
      }
      rows.add(row);
    }
    StringBuilder text = new StringBuilder(MarkdownTable.of(headings, rows));
    for (Seed seed : seeds) {
      for (Violation violation : seed.findings().failures().stream().limit(20).toList()) {
        text.append("\n- seed ").append(seed.name()).append(": ").append(violation);
      }
    }
    return text.append('\n').toString();
  }

  private String faults() {
    List<String> headings = new ArrayList<>(List.of("fault"));
    seeds.forEach(seed -> headings.add("seed " + seed.name()));
    Map<String, Map<String, Integer>> kinds = new TreeMap<>();
    for (Seed seed : seeds) {
      for (Series.Band band : new Series(seed.history()).faults()) {
        kinds
            .computeIfAbsent(band.kind(), _ -> new LinkedHashMap<>())
            .merge(seed.name(), 1, Integer::sum);
      }
    }
    List<List<String>> rows = new ArrayList<>();
    kinds.forEach(
        (kind, counts) -> {
          List<String> row = new ArrayList<>(List.of(kind));
          seeds.forEach(seed -> row.add(String.valueOf(counts.getOrDefault(seed.name(), 0))));
          rows.add(row);
        });
    return MarkdownTable.of(headings, rows);
  }

  private String figures() {
    List<List<String>> rows = new ArrayList<>();
    for (Seed seed : seeds) {
      Series series = new Series(seed.history());
      List<Long> warm = series.startDelays("warm", "safety");
      List<Long> broken = series.startDelays("safety", "drain");
      rows.add(List.of(seed.name(), percentiles(warm), percentiles(broken), duplicates(seed)));
    }
    return "Start delay is the time from when a task was due until its first delivery arrived, in"
        + " ms: p50 / p99 / max.\n"
        + "Duplicates are deliveries after one that the receiver had accepted, by cause."
        + " Without a cause they break R3b.\n\n"
        + MarkdownTable.of(
            List.of("seed", "start delay before faults", "start delay under faults", "duplicates"),
            rows);
  }

  private static String percentiles(List<Long> sorted) {
    return "%s / %s / %s"
        .formatted(
            number(Series.percentile(sorted, 0.5)),
            number(Series.percentile(sorted, 0.99)),
            number(Series.percentile(sorted, 1)));
  }

  private static String duplicates(Seed seed) {
    int all = seed.findings().duplicates().values().stream().mapToInt(each -> each).sum();
    String causes =
        seed.findings().duplicates().entrySet().stream()
            .map(each -> each.getKey() + " " + each.getValue())
            .collect(Collectors.joining(", "));
    return all == 0 ? "0" : all + " (" + causes + ")";
  }

  private String mutants() {
    List<List<String>> rows = new ArrayList<>();
    for (Trial trial : trials) {
      var mutant = trial.mutant();
      String broke = trial.rules().stream().map(Rule::toString).collect(Collectors.joining(" "));
      rows.add(
          List.of(
              mutant == null ? "unmodified" : mutant.name(),
              mutant == null ? "none" : mutant.defect(),
              trial.scenario().name().toLowerCase(Locale.ROOT).replace('_', ' '),
              mutant == null ? "none" : mutant.caughtBy().toString(),
              broke.isEmpty() ? "none" : broke,
              trial.isPassed()
                  ? "yes"
                  : "**no** " + (trial.problem() == null ? "" : trial.problem())));
    }
    return MarkdownTable.of(
        List.of("mutant", "defect", "scenario", "expected rule", "broken rules", "passed"), rows);
  }

  String json() {
    Map<String, Object> tree = new LinkedHashMap<>();
    tree.put("verdict", verdict().name());
    tree.put("problems", problems());
    tree.put("run", facts);
    tree.put("seconds", took.toSeconds());
    Map<String, Object> exposures = new LinkedHashMap<>();
    for (Exposure.Counter counter : Exposure.Counter.values()) {
      exposures.put(
          counter.name(), Map.of("count", exposure.of(counter), "minimum", counter.minimum()));
    }
    tree.put("exposure", exposures);
    Map<String, Object> perSeed = new LinkedHashMap<>();
    for (Seed seed : seeds) {
      Map<String, Object> one = new LinkedHashMap<>();
      Map<String, Integer> violations = new LinkedHashMap<>();
      for (Rule rule : Rule.values()) {
        violations.put(rule.toString(), seed.findings().of(rule).size());
      }
      one.put("violations", violations);
      one.put(
          "notTried",
          Stream.of(Rule.values())
              .filter(rule -> !seed.findings().isTried(rule))
              .map(Rule::toString)
              .toList());
      Exposure alone = Exposure.of(List.of(seed.history()));
      Map<String, Long> counts = new LinkedHashMap<>();
      for (Exposure.Counter counter : Exposure.Counter.values()) {
        counts.put(counter.name(), alone.of(counter));
      }
      one.put("exposure", counts);
      one.put("duplicates", seed.findings().duplicates());
      perSeed.put(seed.name(), one);
    }
    tree.put("seeds", perSeed);
    Map<String, Object> mutants = new LinkedHashMap<>();
    for (Trial trial : trials) {
      mutants.put(
          trial.name(),
          Map.of(
              "passed",
              trial.isPassed(),
              "broke",
              trial.rules().stream().map(Rule::toString).toList()));
    }
    tree.put("mutants", mutants);
    return JSON.writeValueAsString(tree) + "\n";
  }
}
