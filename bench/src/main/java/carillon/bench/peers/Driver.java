package carillon.bench.peers;

import com.zaxxer.hikari.HikariDataSource;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.LongStream;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Drives a library as the benchmark says: a command a line comes in, an answer a line goes out. */
public final class Driver {

  private static final JsonMapper JSON = JsonMapper.builder().build();
  private static final Duration FAR = Duration.ofHours(1);
  private static final int CONNECTIONS = 40;

  private final Library library;
  private final Runs runs;

  private Driver(Library library, Runs runs) {
    this.library = library;
    this.runs = runs;
  }

  public static void main(String... arguments) throws Exception {
    PrintStream out = System.out;
    System.setOut(System.err); // whatever a library prints is no answer
    Runs runs = new Runs();
    try (HikariDataSource database = connect();
        Library library = library(arguments[0], database, runs)) {
      answer(
          out, Map.of("ready", true, "version", library.version(), "settings", library.settings()));
      new Driver(library, runs).serve(out);
    }
    System.exit(0); // threads that a library has left behind
  }

  private static Library library(String name, HikariDataSource database, Runs runs)
      throws Exception {
    String payload = System.getenv("BENCH_PAYLOAD");
    return switch (name) {
      case "db-scheduler" -> new DbScheduler(database, payload, runs);
      default -> throw new IllegalArgumentException("no such library: " + name);
    };
  }

  private static HikariDataSource connect() {
    URI url = URI.create(System.getenv("BENCH_DATABASE_URL"));
    String[] user = url.getUserInfo().split(":", 2);
    HikariDataSource database = new HikariDataSource();
    database.setJdbcUrl(
        "jdbc:postgresql://%s:%d%s?reWriteBatchedInserts=true"
            .formatted(url.getHost(), url.getPort(), url.getPath()));
    database.setUsername(user[0]);
    database.setPassword(user[1]);
    database.setMaximumPoolSize(CONNECTIONS);
    return database;
  }

  private void serve(PrintStream out) throws IOException {
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      JsonNode command = JSON.readTree(line);
      if (command.path("do").asString().equals("quit")) {
        return;
      }
      try {
        answer(out, handle(command));
      } catch (Exception e) {
        e.printStackTrace();
        answer(out, Map.of("error", e.toString()));
      }
    }
  }

  private static void answer(PrintStream out, Map<String, ?> answer) {
    out.println(JSON.writeValueAsString(answer));
    out.flush();
  }

  private Map<String, ?> handle(JsonNode command) throws Exception {
    int tasks = command.path("tasks").asInt(0);
    switch (command.path("do").asString()) {
      case "load" -> library.load(tasks);
      case "future" -> library.loadFuture(tasks);
      case "work" -> library.work(command.path("for").asString().equals("onTime"));
      case "rest" -> library.rest();
      case "finished" -> {
        return Map.of("finished", runs.finished());
      }
      case "left" -> {
        return Map.of("left", library.left());
      }
      case "enqueue" -> {
        return enqueue(
            command.path("callers").asInt(),
            Duration.ofMillis((long) (command.path("seconds").asDouble() * 1000)));
      }
      case "bulk" -> {
        List<Instant> due = Collections.nCopies(tasks, Instant.now().plus(FAR));
        long began = System.nanoTime();
        library.enqueueAll(due);
        return Map.of("seconds", (System.nanoTime() - began) / 1e9);
      }
      case "schedule" -> {
        Instant from = Instant.ofEpochMilli(command.path("from").asLong());
        List<Instant> due = spread(from, command.path("windowMillis").asLong(), tasks);
        runs.expect(tasks, Collections.min(due));
        library.enqueueAll(due);
      }
      case "late" -> {
        return Map.of(
            "millis",
            percentiles(runs.lateMillis()),
            "first",
            runs.firstMillis(),
            "last",
            runs.lastMillis());
      }
      default -> throw new IllegalArgumentException("no such command: " + command);
    }
    return Map.of("ok", true);
  }

  /** To the microsecond, which is what PostgreSQL keeps. */
  private static List<Instant> spread(Instant from, long windowMillis, int jobs) {
    Random random = new Random(42);
    List<Instant> due = new ArrayList<>(jobs);
    for (int i = 0; i < jobs; i++) {
      due.add(
          windowMillis == 0 ? from : from.plusNanos(random.nextLong(windowMillis * 1000) * 1000));
    }
    return due;
  }

  private Map<String, ?> enqueue(int callers, Duration duration) throws Exception {
    long began = System.nanoTime();
    long end = began + duration.toNanos();
    Callable<long[]> caller =
        () -> {
          LongStream.Builder took = LongStream.builder();
          for (long now = System.nanoTime(); now < end; ) {
            library.enqueue(Instant.now().plus(FAR));
            long then = System.nanoTime();
            took.add(then - now);
            now = then;
          }
          return took.build().toArray();
        };
    double[] millis =
        together(callers, caller).stream()
            .flatMapToLong(Arrays::stream)
            .sorted()
            .mapToDouble(nanos -> nanos / 1e6)
            .toArray();
    return Map.of(
        "tasks",
        millis.length,
        "seconds",
        (System.nanoTime() - began) / 1e9,
        "millis",
        percentiles(millis));
  }

  /** Does the same on so many threads at once. */
  static <T> List<T> together(int times, Callable<T> work) throws Exception {
    try (ExecutorService threads = Executors.newFixedThreadPool(times)) {
      List<T> results = new ArrayList<>();
      for (Future<T> future : threads.invokeAll(Collections.nCopies(times, work))) {
        results.add(future.get());
      }
      return results;
    }
  }

  /** The 50th, the 99th and the last of sorted values. */
  static double[] percentiles(double[] sorted) {
    if (sorted.length == 0) {
      throw new IllegalStateException("nothing has run");
    }
    return new double[] {at(sorted, 0.5), at(sorted, 0.99), sorted[sorted.length - 1]};
  }

  private static double at(double[] sorted, double share) {
    return sorted[Math.max(0, (int) Math.ceil(share * sorted.length) - 1)];
  }
}
