package carillon.bench;

import java.io.IOException;
import java.sql.SQLException;
import java.util.Map;

/** A drain of 1,000 lanes: ten types of each of 100 tenants. */
final class Lanes implements Scenario<CarillonServer> {

  private static final int TENANTS = 100;
  private static final int TYPES = 10;
  private static final String PREFIX = "lane-";

  @Override
  public Figures run(CarillonServer carillon, Stage stage)
      throws IOException, SQLException, InterruptedException {
    stage.warmUp(carillon);
    int each = stage.sizes().drain() / TENANTS;
    stage.progress().step("loading");
    for (int tenant = 0; tenant < TENANTS; tenant++) {
      pause(carillon, tenant, true);
      for (int type = 0; type < TYPES; type++) {
        carillon
            .client()
            .withTenant(name(tenant))
            .put("/v1/types/" + PREFIX + type, Map.of("target", Map.of("discard", Map.of())));
      }
      carillon.submit(name(tenant), each, i -> Tasks.task(PREFIX + i % TYPES, ""));
      stage.progress().at(tenant, TENANTS);
    }
    carillon.store().settle();

    stage.progress().step("draining");
    long before = carillon.finished();
    Meter meter = Meter.start(carillon);
    for (int tenant = 0; tenant < TENANTS; tenant++) {
      pause(carillon, tenant, false);
    }
    int tasks = each * TENANTS;
    stage.await(carillon, before, tasks);
    return meter.stop(tasks).with(Metric.RATE, tasks / carillon.seconds(tasks, PREFIX));
  }

  private static void pause(CarillonServer carillon, int tenant, boolean paused) {
    carillon.client().put("/v1/tenants/" + name(tenant), Map.of("paused", paused));
  }

  private static String name(int tenant) {
    return "tenant-" + tenant;
  }
}
