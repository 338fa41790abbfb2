package carillon.bench;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** Workers that claim 500 tasks at a time and report them all done; times are those of a claim. */
final class Pull implements Scenario<CarillonServer> {

  private static final int WORKERS = 4;
  private static final int MAX = 500;
  private static final JsonMapper JSON = JsonMapper.builder().build();

  @Override
  public Figures run(CarillonServer carillon, Stage stage)
      throws IOException, SQLException, InterruptedException {
    stage.progress().step("warming up");
    pull(carillon, stage, stage.sizes().warmUp());
    return pull(carillon, stage, stage.sizes().pull());
  }

  private static Figures pull(CarillonServer carillon, Stage stage, int tasks)
      throws IOException, SQLException, InterruptedException {
    String type = carillon.newType(Map.of("target", Map.of("pull", Map.of())));
    carillon.submit(null, tasks, _ -> Tasks.task(type, ""));
    carillon.store().settle();
    stage.progress().step("pulling");
    AtomicInteger left = new AtomicInteger(tasks);
    Meter meter = Meter.start(carillon);
    long[] claims = Callers.together(WORKERS, () -> work(carillon, type, left));
    Figures figures = meter.stop(tasks);
    return figures
        .with(Metric.RATE, tasks / carillon.seconds(tasks))
        .with(Percentiles.ofNanos(claims).times());
  }

  /** Until nothing is left; returns how long each claim took. */
  private static long[] work(CarillonServer carillon, String type, AtomicInteger left)
      throws IOException {
    byte[] claim =
        """
        {"types": ["%s"], "max": %d, "wait": "100ms", "worker": "bench"}
        """
            .formatted(type, MAX)
            .getBytes(StandardCharsets.UTF_8);
    LongStream.Builder took = LongStream.builder();
    try (Wire wire = carillon.wire(null)) {
      while (left.get() > 0) {
        long began = System.nanoTime();
        byte[] answer = wire.post("/v1/work/claim", "application/json", claim);
        took.add(System.nanoTime() - began);
        JsonNode tasks = JSON.readTree(answer).path("tasks");
        if (!tasks.isEmpty()) {
          wire.post("/v1/work/report", "application/json", report(tasks));
          left.addAndGet(-tasks.size());
        }
      }
    }
    return took.build().toArray();
  }

  private static byte[] report(JsonNode tasks) {
    ObjectNode report = JSON.createObjectNode();
    ArrayNode results = report.putArray("results");
    for (JsonNode task : tasks) {
      results
          .addObject()
          .put("id", task.path("id").asString())
          .put("token", task.path("token").asString())
          .put("outcome", "completed");
    }
    return JSON.writeValueAsBytes(report);
  }
}
