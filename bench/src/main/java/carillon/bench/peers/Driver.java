package carillon.bench.peers;

import com.zaxxer.hikari.HikariDataSource;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import tools.jackson.databind.JsonNode;

/** Runs a library and executes the commands of the benchmark. */
public final class Driver {

  private static final Duration FAR_FUTURE = Duration.ofHours(1);
  private static final int CONNECTIONS = 64; // one for each concurrent caller of enqueue
  private static final Pattern JAR = Pattern.compile("-([0-9][^/]*)\\.jar$");

  private final Library library;
  private final Runs runs;

  private Driver(Library library, Runs runs) {
    this.library = library;
    this.runs = runs;
  }

  public static void main(String... arguments) throws Exception {
    Protocol protocol = new Protocol();
    Runs runs = new Runs();
    try (HikariDataSource database = connect();
        Library library = library(arguments[0], database, runs)) {
      protocol.serve(
          version(library.libraryClass()), library.settings(), new Driver(library, runs)::handle);
    }
    System.exit(0); // libraries may leave non-daemon threads
  }

  private static Library library(String name, HikariDataSource database, Runs runs)
      throws Exception {
    String payload = System.getenv("BENCH_PAYLOAD");
    return switch (name) {
      case "db-scheduler" -> new DbScheduler(database, payload, runs);
      case "jobrunr" -> new JobRunrLibrary(database, payload, runs);
      case "quartz" -> new QuartzLibrary(database, payload, runs);
      default -> throw new IllegalArgumentException("unknown library: " + name);
    };
  }

  /** Read from the name of the JAR, the only place that all libraries have their version in. */
  private static String version(Class<?> type) {
    Matcher jar = JAR.matcher(type.getProtectionDomain().getCodeSource().getLocation().toString());
    return jar.find() ? jar.group(1) : "?";
  }

  static HikariDataSource connect() {
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

  private Map<String, ?> handle(JsonNode command) throws Exception {
    int tasks = command.path("tasks").asInt(0);
    switch (command.path("do").asString()) {
      case "load" -> library.load(tasks);
      case "future" -> library.loadFuture(tasks);
      case "work" -> library.work(command.path("for").asString().equals("onTime"));
      case "stop" -> library.stop();
      case "finished" -> {
        return Map.of("finished", runs.finished());
      }
      case "remaining" -> {
        return Map.of("remaining", library.remaining());
      }
      case "enqueue" -> {
        Calls.Caller caller = () -> library.enqueue(Instant.now().plus(FAR_FUTURE));
        return Calls.during(
            Duration.ofMillis((long) (command.path("seconds").asDouble() * 1000)),
            command.path("callers").asInt(),
            () -> caller);
      }
      case "bulk" -> {
        List<Instant> due = Collections.nCopies(tasks, Instant.now().plus(FAR_FUTURE));
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
            Calls.percentiles(runs.lateMillis()),
            "first",
            runs.firstMillis(),
            "last",
            runs.lastMillis());
      }
      default -> throw new IllegalArgumentException("unknown command: " + command);
    }
    return Protocol.OK;
  }

  /** In whole milliseconds, the precision that all libraries store. */
  private static List<Instant> spread(Instant from, long windowMillis, int jobs) {
    Random random = new Random(42);
    List<Instant> due = new ArrayList<>(jobs);
    for (int i = 0; i < jobs; i++) {
      due.add(windowMillis == 0 ? from : from.plusMillis(random.nextLong(windowMillis)));
    }
    return due;
  }
}
