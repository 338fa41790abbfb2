package carillon.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import carillon.model.Partition;
import carillon.model.Signal;
import carillon.store.db.Db;
import carillon.store.db.StoreException;
import carillon.store.db.Timeline;
import carillon.store.db.Transitions;
import carillon.store.stats.Backlog;
import carillon.testkit.Postgres;
import carillon.testkit.World;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
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

  @Test
  void after_a_count_that_took_too_long_the_next_ones_are_unknown_at_once() throws SQLException {
    try (World world = World.create();
        Db impatient =
            Db.open(
                world.address,
                new Db.Pool("impatient", 1, Duration.ofMillis(100)),
                new Timeline(new Signal()),
                new Transitions());
        Connection connection = Postgres.connect(world.address);
        Statement statement = connection.createStatement()) {
      world.discard();
      world.catalog.refresh();
      var gauge =
          new BacklogGauge(new Backlog(impatient, world.catalog, world.partitions), world.clock);
      connection.setAutoCommit(false);
      Partition today = Partition.of(world.clock.instant());
      // The same timeout ends a statement that waits for a lock and one that reads for long.
      statement.execute("LOCK TABLE carillon.queue_" + today.suffix());

      assertThatThrownBy(gauge::oldest).isInstanceOf(StoreException.class);
      assertThat(gauge.oldest()).isNaN();
      connection.rollback();
    }
  }
}
