package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.client.Carillon;
import carillon.store.db.Db;
import carillon.testkit.Postgres;
import carillon.testkit.ServerProcess;
import carillon.testkit.Servers;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Two nodes that share the lanes of a type. */
class TwoEnginesTest {

  private static final int TASKS = 5_000;
  private static final int BATCH = 100;

  @RegisterExtension final Servers servers = new Servers();

  @Test
  void each_task_is_claimed_and_completed_once_by_one_of_two_nodes() {
    Db.Address address = Postgres.freshDatabase();
    Database database = new Database(address);
    ServerProcess a = servers.launchOn(address, "--node-id", "a");
    ServerProcess b = servers.startOn(address, "--node-id", "b");

    try (Carillon one = a.awaitReady().connect();
        Carillon other = b.connect()) {
      one.put("/v1/types/shared", Map.of("target", Map.of("discard", Map.of()), "slices", 16));
      await()
          .atMost(Duration.ofMinutes(1))
          .until(() -> database.count("SELECT count(DISTINCT node) FROM carillon.shard") == 2);
      Map<String, Object> task = Map.of("type", "shared");
      for (int posted = 0; posted < TASKS; posted += BATCH) {
        (posted / BATCH % 2 == 0 ? one : other)
            .post("/v1/tasks/batch", Map.of("tasks", Collections.nCopies(BATCH, task)));
      }
      await().atMost(Duration.ofMinutes(1)).until(() -> database.unfinished() == 0);
    }

    List<String> completed =
        database.column("SELECT task FROM carillon.every_transition WHERE to_state = 'COMPLETED'");
    assertThat(completed).hasSize(TASKS).doesNotHaveDuplicates();
    assertThat(
            database.count(
                "SELECT count(*) FROM carillon.task"
                    + " WHERE state = 'COMPLETED' AND fence = 1 AND attempt = 1"))
        .isEqualTo(TASKS);
    List<String> claimers =
        database.column("SELECT leased_by FROM carillon.task GROUP BY leased_by");
    assertThat(claimers).hasSize(2);
    database.assertConsistent();
  }
}
