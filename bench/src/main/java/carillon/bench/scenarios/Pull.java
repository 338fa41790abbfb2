package carillon.bench.scenarios;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.figures.Percentiles;
import carillon.bench.systems.Callers;
import carillon.bench.systems.CarillonServer;
import carillon.bench.systems.Tasks;
import carillon.bench.systems.Wire;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;

/** Workers claim up to 500 tasks at a time and report them done; times are of the claims. */
public final class Pull implements Scenario<CarillonServer> {

  private static final int WORKERS = 4;
  private static final int MAX = 500;
  private static final String ID = "\"id\":";
  private static final String TOKEN = "\"token\":";

  @Override
  public Figures run(CarillonServer carillon, Stage stage)
      throws IOException, SQLException, InterruptedException {
    stage.progress().step("warming up");
    pull(carillon, stage, stage.sizes().warmUp());
    return pull(carillon, stage, stage.sizes().pull());
  }

  private static Figures pull(CarillonServer carillon, Stage stage, int tasks)
      throws IOException, SQLException, InterruptedException {
    String type = carillon.newType(Map.of("target", Map.of("pull", Map.of()), "slices", WORKERS));
    carillon.submit(null, tasks, _ -> Tasks.task(type, ""));
    carillon.store().settle();
    stage.progress().step("pulling");
    AtomicInteger remaining = new AtomicInteger(tasks);
    Meter meter = Meter.start(carillon);
    long[] claims = Callers.together(WORKERS, () -> work(carillon, type, remaining));
    Figures figures = meter.stop(tasks);
    return figures
        .with(Metric.RATE, tasks / carillon.seconds(tasks))
        .with(Percentiles.ofNanos(claims).times());
  }

  /** Works until no task remains; returns how long each claim took. */
  private static long[] work(CarillonServer carillon, String type, AtomicInteger remaining)
      throws IOException {
    byte[] claim =
        """
        {"types": ["%s"], "max": %d, "wait": "100ms", "worker": "bench"}
        """
            .formatted(type, MAX)
            .getBytes(StandardCharsets.UTF_8);
    LongStream.Builder took = LongStream.builder();
    try (Wire wire = carillon.wire(null)) {
      while (remaining.get() > 0) {
        long began = System.nanoTime();
        byte[] response = wire.post("/v1/work/claim", "application/json", claim);
        took.add(System.nanoTime() - began);
        List<String> tasks = tasks(new String(response, StandardCharsets.UTF_8));
        if (!tasks.isEmpty()) {
          wire.post("/v1/work/report", "application/json", report(tasks));
          remaining.addAndGet(-tasks.size());
        }
      }
    }
    return took.build().toArray();
  }

  /** Copies id and token as text: a JSON parser would use the CPU that is being measured. */
  private static List<String> tasks(String response) {
    List<String> tasks = new ArrayList<>(MAX);
    for (int id = response.indexOf(ID); id >= 0; id = response.indexOf(ID, id + 1)) {
      int token = response.indexOf(TOKEN, id);
      tasks.add(member(response, id) + "," + member(response, token));
    }
    return tasks;
  }

  /** The name and the string value of a member; the value must not contain escapes. */
  private static String member(String json, int start) {
    int value = json.indexOf(':', start) + 2;
    return json.substring(start, json.indexOf('"', value) + 1);
  }

  private static byte[] report(List<String> tasks) {
    StringBuilder report = new StringBuilder("{\"results\":[");
    for (String task : tasks) {
      report.append(report.charAt(report.length() - 1) == '[' ? "{" : ",{");
      report.append(task).append(",\"outcome\":\"completed\"}");
    }
    return report.append("]}").toString().getBytes(StandardCharsets.UTF_8);
  }
}
