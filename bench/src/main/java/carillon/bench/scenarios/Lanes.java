package carillon.bench.scenarios;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.systems.CarillonServer;
import carillon.bench.systems.Tasks;
import java.io.IOException;
import java.sql.SQLException;
import java.util.Map;

/** A drain of 1,000 lanes: ten types of each of 100 tenants. */
public final class Lanes implements Rounds<CarillonServer> {

  private static final int TENANTS = 100;
  private static final int TYPES = 10;
  private static final String PREFIX = "lane-";

  @Override
  public void warmUp(CarillonServer carillon, Stage stage)
      throws IOException, InterruptedException {
    stage.progress().step("warming up");
    for (int tenant = 0; tenant < TENANTS; tenant++) {
      pause(carillon, tenant, false);
      for (int type = 0; type < TYPES; type++) {
        carillon
            .client()
            .withTenant(name(tenant))
            .put("/v1/types/" + PREFIX + type, Map.of("target", Map.of("discard", Map.of())));
      }
    }
    long before = carillon.finished();
    submit(carillon, stage.sizes().warmUp(), stage);
    stage.await(carillon, before, stage.sizes().warmUp());
  }

  @Override
  public Figures round(CarillonServer carillon, Stage stage)
      throws IOException, SQLException, InterruptedException {
    int tasks = stage.sizes().drain();
    stage.progress().step("loading");
    String since = carillon.now();
    for (int tenant = 0; tenant < TENANTS; tenant++) {
      pause(carillon, tenant, true);
    }
    submit(carillon, tasks, stage);
    carillon.store().settle();

    stage.progress().step("draining");
    long before = carillon.finished();
    Meter meter = Meter.start(carillon);
    for (int tenant = 0; tenant < TENANTS; tenant++) {
      pause(carillon, tenant, false);
    }
    stage.await(carillon, before, tasks);
    return meter.stop(tasks).with(Metric.RATE, tasks / carillon.seconds(tasks, PREFIX, since));
  }

  private static void submit(CarillonServer carillon, int tasks, Stage stage)
      throws IOException, InterruptedException {
    for (int tenant = 0; tenant < TENANTS; tenant++) {
      carillon.submit(name(tenant), tasks / TENANTS, i -> Tasks.task(PREFIX + i % TYPES, ""));
      stage.progress().at(tenant, TENANTS);
    }
  }

  private static void pause(CarillonServer carillon, int tenant, boolean paused) {
    carillon.client().put("/v1/tenants/" + name(tenant), Map.of("paused", paused));
  }

  private static String name(int tenant) {
    return "tenant-" + tenant;
  }
}
