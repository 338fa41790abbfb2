package carillon.store.queue;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.target.Target;
import carillon.model.task.NewTask;
import carillon.testkit.World;
import java.io.BufferedReader;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("slow")
class ClaimRaceTest {

  private static final int TASKS = 6_000;

  @Test
  void sixteen_threads_of_two_processes_never_claim_the_same_task() throws IOException {
    try (World world = World.create()) {
      List<NewTask> tasks =
          IntStream.range(0, TASKS)
              .mapToObj(i -> World.task("type-" + i % 5, new Target.Discard()))
              .toList();
      world.db.inTransaction(tx -> world.tasks.createAll(tx, World.TENANT, tasks));

      List<Process> racers = List.of(racer(world, "a"), racer(world, "b"));
      List<String> claimed = new ArrayList<>();
      for (Process racer : racers) {
        claimed.addAll(lines(racer));
      }

      assertThat(claimed)
          .hasSize(TASKS)
          .doesNotHaveDuplicates()
          .allMatch(line -> line.endsWith(" 1"));
      assertThat(
              world.value(
                  "SELECT count(*) FROM carillon.task WHERE state = 'RUNNING' AND fence = 1"))
          .isEqualTo(String.valueOf(TASKS));
      assertThat(world.value("SELECT count(DISTINCT leased_by) FROM carillon.task")).isEqualTo("2");
    }
  }

  private static Process racer(World world, String node) throws IOException {
    String java = ProcessHandle.current().info().command().orElseThrow();
    ProcessBuilder builder =
        new ProcessBuilder(
            java,
            "-XX:TieredStopAtLevel=1",
            "-cp",
            System.getProperty("java.class.path"),
            "carillon.store.queue.ClaimRacer",
            world.address.url(),
            world.address.user(),
            String.valueOf(world.address.password()),
            node,
            "8");
    return builder.redirectError(ProcessBuilder.Redirect.INHERIT).start();
  }

  private static List<String> lines(Process process) throws IOException {
    try (BufferedReader out = process.inputReader()) {
      return out.lines().filter(line -> line.startsWith("claimed ")).toList();
    }
  }
}
