package carillon.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.store.stats.Backlog;
import carillon.testkit.World;
import java.time.Instant;
import org.junit.jupiter.api.Test;

class BacklogGaugeTest {

  @Test
  void the_oldest_age_does_not_grow_between_two_reads() {
    try (World world = World.create()) {
      world.discard();
      world.sql("UPDATE carillon.task SET ready_at = now() - interval '3 s'");
      world.catalog.refresh();
      var gauge =
          new BacklogGauge(new Backlog(world.db, world.catalog, world.partitions), world.clock);
      double first = gauge.oldest();
      Instant later = world.clock.instant().plusMillis(20);
      await().until(() -> world.clock.instant().isAfter(later));

      assertThat(first).isGreaterThanOrEqualTo(3);
      assertThat(gauge.oldest()).isEqualTo(first);
    }
  }
}
