package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.client.Carillon;
import carillon.store.db.Db;
import carillon.testkit.DeadTasks;
import carillon.testkit.Postgres;
import carillon.testkit.Servers;
import carillon.testkit.World;
import java.time.Duration;
import java.util.Map;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import tools.jackson.databind.JsonNode;

/**
 * A redrive with a rate, which continues after its node is killed and can be stopped and undone.
 */
class RedriveTest {

  private static final int RATE = 100; // tasks per second: all of them take 25 s

  @RegisterExtension final Servers servers = new Servers();

  @Test
  void a_redrive_keeps_its_rate_survives_a_kill_and_can_be_stopped_and_undone() {
    Db.Address database = Postgres.freshDatabase();
    try (World world = World.on(database)) {
      // Pull tasks without a worker: redriven tasks stay PENDING.
      DeadTasks.fill(world, 10_000, 4);
      var killed = servers.startOn(database);
      String id;
      try (Carillon api = killed.connect()) {
        String group =
            api.get("/v1/dead-letters/groups?status=502")
                .path("items")
                .path(0)
                .path("group")
                .asString();
        JsonNode started =
            api.post("/v1/dead-letters/redrive", Map.of("group", group, "rate", RATE));
        assertThat(started.path("matched").asInt()).isEqualTo(2_500);
        id = started.path("id").asString();
        awaitRedriven(api, id, 80);
      }
      killed.kill9();

      try (Carillon api = servers.startOn(database).connect()) {
        awaitRedriven(api, id, 200);
        JsonNode stopped = api.post("/v1/redrives/" + id + "/stop", null);
        assertThat(stopped.path("status").asString()).isEqualTo("STOPPED");
        int redriven = stopped.path("redriven").asInt();
        assertThat(redriven).as("redriven when stopped").isLessThan(2_500);
        assertThat(stopped.path("waiting").asInt()).isEqualTo(redriven);
        assertThat(maxPerSecond(world, id))
            .as("maximum redriven within a second")
            .isLessThanOrEqualTo(RATE);

        JsonNode undone = api.post("/v1/redrives/" + id + "/undo", null);

        assertThat(undone.path("status").asString()).isEqualTo("UNDONE");
        assertThat(undone.path("undone").asInt()).isEqualTo(redriven);
        assertThat(world.value("SELECT count(*) FROM carillon.dead_letter")).isEqualTo("10000");
        assertThat(world.value("SELECT count(*) FROM carillon.attempt")).isEqualTo("0");
        assertThat(api.get("/v1/audit?subject=" + id).path("items"))
            .extracting(entry -> entry.path("action").asString())
            .containsExactly("redrive.undone", "redrive.undo", "redrive.stop", "redrive.start");
      }
    }
  }

  private static int maxPerSecond(World world, String redrive) {
    String max =
        world.value(
            """
            SELECT max(n)
            FROM (
                SELECT count(*) OVER (ORDER BY at RANGE BETWEEN CURRENT ROW AND '999 ms' FOLLOWING) AS n
                FROM carillon.transition
                WHERE reason = 'redrive %s'
            ) t
            """
                .formatted(redrive));
    return Integer.parseInt(max);
  }

  private static void awaitRedriven(Carillon api, String id, int atLeast) {
    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .pollInterval(Duration.ofMillis(50))
        .until(() -> api.get("/v1/redrives/" + id).path("redriven").asInt() >= atLeast);
  }
}
