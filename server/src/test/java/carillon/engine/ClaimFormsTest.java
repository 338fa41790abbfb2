package carillon.engine;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.TaskId;
import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.model.task.NewTask;
import carillon.testkit.FakeDeliverer;
import carillon.testkit.TestTask;
import carillon.testkit.World;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class ClaimFormsTest {

  private static final Target HTTP =
      new Target.Http("https://example.com/", "POST", Map.of(), null, null);
  private static final NewTask PLAIN = World.task("plain", HTTP);

  @Test
  void a_lane_with_concurrency_keys_does_not_make_claims_of_other_lanes_expensive() {
    List<ClaimedTask> started = new ArrayList<>();
    try (World world = World.create();
        var node = new ManualNode(world, "node", new FakeDeliverer(), _ -> {})) {
      Claimer claimer =
          node.claimer(new Seats(10), Claimer.Lanes.ALL, (tasks, _) -> started.addAll(tasks));
      TaskId first = world.create(keyed("a"));
      world.awaitDue(first);
      claimer.claimOnce(); // leaves the task and learns that its lane needs the full form
      assertThat(started).isEmpty();
      claimer.claimOnce();
      assertThat(started).extracting(ClaimedTask::id).containsExactly(first);

      TaskId keyed = world.create(keyed("b"));
      TaskId plain = world.create(PLAIN);
      world.awaitDue(plain);
      claimer.claimOnce();

      assertThat(started).extracting(ClaimedTask::id).contains(keyed, plain);
      assertThat(claimOf(keyed, started)).isNotEqualTo(claimOf(plain, started));
    }
  }

  private static NewTask keyed(String key) {
    return TestTask.of("keyed").payload("{}").target(HTTP).concurrencyKey(key).build();
  }

  private static UUID claimOf(TaskId id, List<ClaimedTask> tasks) {
    return tasks.stream()
        .filter(task -> task.id().equals(id))
        .findFirst()
        .orElseThrow()
        .lease()
        .claim();
  }
}
