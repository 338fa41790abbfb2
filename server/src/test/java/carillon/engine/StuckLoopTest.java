package carillon.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.model.cluster.ClusterView;
import carillon.model.target.Target;
import carillon.testkit.FakeDeliverer;
import carillon.testkit.Latches;
import carillon.testkit.World;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A node that sends heartbeats while a loop that it depends on is stuck. */
class StuckLoopTest {

  private static final Target HTTP =
      new Target.Http("https://example.com/", "POST", Map.of(), null, null);

  @ParameterizedTest
  @CsvSource({"Claimed, claimer", "Ended, completer"})
  void a_stuck_loop_is_reported_until_it_makes_progress(String event, String loop)
      throws InterruptedException {
    CountDownLatch release = new CountDownLatch(1);
    try (World world = World.create()) {
      world.node("node");
      Engine engine =
          Engines.start(
              world,
              "node",
              new Engine.Transports(new FakeDeliverer(), List.of()),
              () -> ClusterView.ALONE,
              new EngineConfig(50, Duration.ZERO, 3, Duration.ofMillis(300)),
              each -> {
                if (each.getClass().getSimpleName().equals(event)) {
                  Latches.await(release);
                }
              });

      world.create(World.task("t", HTTP));
      // Either of the claimer's two loops may be the stuck one.
      await()
          .until(
              () ->
                  engine
                      .stuck()
                      .filter(why -> why.matches("loop " + loop + "(-b)? is stuck"))
                      .isPresent());
      release.countDown();

      await().until(() -> engine.stuck().isEmpty());
      engine.stop();
      assertThat(engine.inFlight()).isZero();
    }
  }
}
