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
 * All that came of a run of the harness.
 *
 * @param facts what was run on what, to be printed: options, commit, versions, machine
 * @param trials of mutants; empty where none were asked for
 * @param errors of runs that did not come to their end, so that they are not among the seeds
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

  /** How it ended; its number is the exit status. */
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
    return exposure.missing().isEmpty() && troubles().isEmpty() ? Verdict.OK : Verdict.INCONCLUSIVE;
  }

  private String sentence() {
    String mutants = trials.isEmpty() ? "no mutants were tried" : "no mutant lives";
    return switch (verdict()) {
      case OK -> "No rule was broken, %s, and enough was tried.".formatted(mutants);
      case BROKEN -> "Something is wrong: a rule was broken, or a mutant lives.";
      case INCONCLUSIVE ->
          "No rule is known to be broken, %s, but too little was tried, or the harness itself failed."
              .formatted(trials.isEmpty() ? mutants : "no mutant is known to live");
    };
  }

  /** Why the run proves less than it seems to. */
  private List<String> troubles() {
    List<String> troubles = new ArrayList<>(errors);
    for (Seed seed : seeds) {
      seed.troubles().forEach(trouble -> troubles.add("seed " + seed.name() + ": " + trouble));
      for (Rule rule : seed.findings().untried()) {
        if (rule.isOnlyForTrials()) {
          continue;
        }
        troubles.add("seed " + seed.name() + ": nothing tried " + rule + ", so it proves nothing");
      }
    }
    for (Trial trial : trials) {
      if (trial.trouble() != null) {
        troubles.add(trial.name() + ": " + trial.trouble());
      }
    }
    return troubles;
  }

  /** Removes what an earlier run left, so that nobody takes it for this one's. */
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
   * Writes {@code latest.md}, {@code latest.json}, a chart of each seed, and for those that failed
   * the listing of their tasks.
   */
  public void write(Path directory) throws IOException {
    Files.createDirectories(directory);
    Files.writeString(directory.resolve("latest.md"), Place.withoutPaths(markdown()));
    Files.writeString(directory.resolve("latest.json"), Place.withoutPaths(json()));
    for (Seed seed : seeds) {
      Files.writeString(directory.resolve(chart(seed)), Timeline.of(seed));
    }
    List<String> all = new ArrayList<>();
    seeds.stream().filter(seed -> !seed.findings().isClean()).map(Listing::of).forEach(all::add);
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
      Files.writeString(violations, Place.withoutPaths(listings));
    }
  }

  private static String chart(Seed seed) {
    return "timeline-" + seed.name() + ".svg";
  }

  String markdown() {
    StringBuilder text = new StringBuilder("# Chaos report\n\n");
    text.append("**%s** %s\n\n".formatted(verdict(), sentence()));
    troubles().forEach(trouble -> text.append("- ").append(trouble).append('\n'));
    text.append(troubles().isEmpty() ? "" : "\n");
    List<List<String>> about = new ArrayList<>();
    facts.forEach((name, value) -> about.add(List.of(name, value)));
    about.add(List.of("took", took.toSeconds() + " s"));
    text.append(Tables.of(List.of("run", ""), about));
    text.append("\n## What was tried\n\n");
    text.append(
        "With none of n gone wrong, the chance that one does is below 3/n, in 19 of 20 cases.\n\n");
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
    headings.addAll(List.of("together", "minimum", "", "3/n"));
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
    return Tables.of(headings, rows);
  }

  private static String number(long value) {
    return String.format(Locale.ROOT, "%,d", value);
  }

  private String rules() {
    List<String> headings = new ArrayList<>(List.of("rule", "what it looks for"));
    seeds.forEach(seed -> headings.add("seed " + seed.name()));
    List<List<String>> rows = new ArrayList<>();
    for (Rule rule : Rule.values()) {
      List<String> row = new ArrayList<>(List.of(rule.toString(), rule.title()));
      for (Seed seed : seeds) {
        int found = seed.findings().of(rule).size();
        String none = seed.findings().isTried(rule) ? "0" : "not tried";
        row.add(found == 0 ? none : rule.isWarning() ? found + " (warning)" : "**" + found + "**");
      }
      rows.add(row);
    }
    StringBuilder text = new StringBuilder(Tables.of(headings, rows));
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
    return Tables.of(headings, rows);
  }

  private String figures() {
    List<List<String>> rows = new ArrayList<>();
    for (Seed seed : seeds) {
      Series series = new Series(seed.history());
      List<Long> warm = series.lateness("warm", "safety");
      List<Long> broken = series.lateness("safety", "drain");
      rows.add(List.of(seed.name(), percentiles(warm), percentiles(broken), duplicates(seed)));
    }
    return "Lateness is from when a task was due to when its first delivery came, in ms: median, 99"
        + " %, greatest.\n"
        + "Duplicates are deliveries after one that the receiver had accepted; each of these"
        + " has a cause that the harness brought about.\n\n"
        + Tables.of(
            List.of("seed", "lateness, all well", "lateness, under faults", "duplicates"), rows);
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
              mutant == null ? "as it is" : mutant.name(),
              mutant == null ? "nothing" : mutant.defect(),
              trial.scenario().name().toLowerCase(Locale.ROOT).replace('_', ' '),
              mutant == null ? "none" : mutant.caughtBy().toString(),
              broke.isEmpty() ? "none" : broke,
              trial.isPassed()
                  ? "yes"
                  : "**no** " + (trial.trouble() == null ? "" : trial.trouble())));
    }
    return Tables.of(
        List.of("mutant", "what is broken", "scenario", "must break", "broke", "as it should be"),
        rows);
  }

  String json() {
    Map<String, Object> tree = new LinkedHashMap<>();
    tree.put("verdict", verdict().name());
    tree.put("troubles", troubles());
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
              "asItShouldBe",
              trial.isPassed(),
              "broke",
              trial.rules().stream().map(Rule::toString).toList()));
    }
    tree.put("mutants", mutants);
    return JSON.writeValueAsString(tree) + "\n";
  }
}
