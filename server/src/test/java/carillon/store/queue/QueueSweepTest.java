package carillon.store.queue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.model.Partition;
import carillon.model.Signal;
import carillon.store.db.Db;
import carillon.store.db.Sql;
import carillon.store.db.StoreException;
import carillon.store.db.Timeline;
import carillon.store.db.Transitions;
import carillon.testkit.Postgres;
import carillon.testkit.World;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class QueueSweepTest {

  /** More than fit into the pages that one statement reads. */
  private static final int ROWS_READ_AT_ONCE = 50_000;

  private World world;
  private Db impatient;
  private Agenda agenda;
  private QueueSweep sweep;

  @BeforeEach
  void open() {
    world = World.create();
    world.partitions.ensure(Partition.of(world.clock.instant()));
    impatient = openWith(Duration.ofMillis(100));
    agenda = new Agenda(new Signal());
    sweep = sweepOn(impatient);
  }

  /** Reads the pages of one statement in each sweep but the first. */
  private QueueSweep sweepOn(Db db) {
    return new QueueSweep(db, world.catalog, world.partitions, agenda, Duration.ZERO);
  }

  private Db openWith(Duration timeout) {
    return Db.open(
        world.address,
        new Db.Pool("impatient", 1, timeout),
        new Timeline(new Signal()),
        new Transitions());
  }

  @AfterEach
  void close() {
    impatient.close();
    world.close();
  }

  @Test
  void while_whole_sweeps_take_too_long_recent_tasks_are_found_at_once_and_others_page_by_page()
      throws SQLException {
    enqueue("first");
    claimOlderTasks(2 * ROWS_READ_AT_ONCE);
    sweepNow();
    agenda.takeDue(Instant.MAX, _ -> true);

    whileSweepsTakeTooLong(
        () -> assertThatThrownBy(this::sweepNow).isInstanceOf(StoreException.class));
    enqueue("recent");
    enqueue("old");
    makeOld("old");
    sweepNow();

    assertThat(isKnown("recent")).isTrue();
    assertThat(isKnown("old")).as("on a page that was not read yet").isFalse();

    sweepNow();
    sweepNow();

    assertThat(isKnown("old")).isTrue();
  }

  @Test
  void a_recent_sweep_keeps_what_is_known_of_older_tasks() throws SQLException {
    enqueue("old");
    makeOld("old");
    sweepNow();

    whileSweepsTakeTooLong(
        () -> assertThatThrownBy(this::sweepNow).isInstanceOf(StoreException.class));
    sweepNow();

    assertThat(isKnown("old")).isTrue();
  }

  @Test
  void a_first_sweep_that_takes_too_long_fails() throws SQLException {
    enqueue("first");

    whileSweepsTakeTooLong(
        () ->
            assertThatThrownBy(this::sweepNow)
                .isInstanceOfSatisfying(
                    StoreException.class, e -> assertThat(e.isTooMuch()).isTrue()));
    sweepNow();

    assertThat(isKnown("first")).isTrue();
  }

  @Test
  void under_an_old_snapshot_all_tasks_are_found_from_the_start_on() throws SQLException {
    enqueue("waiting");
    try (Connection snapshot = Postgres.connect(world.address);
        Statement statement = snapshot.createStatement()) {
      snapshot.setAutoCommit(false);
      statement.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
      statement.execute("SELECT FROM carillon.queue");
      claimOlderTasks(4 * ROWS_READ_AT_ONCE);
      world.sweep(); // the first one also marks the rows as dead
      long began = System.nanoTime();
      world.sweep();
      Duration whole = Duration.ofNanos(System.nanoTime() - began);
      try (Db hasty = openWith(whole.dividedBy(3))) {
        sweep = sweepOn(hasty);
        assertThatThrownBy(() -> sweepWhole(hasty)).isInstanceOf(StoreException.class);

        sweepUntilFinished();

        assertThat(isKnown("waiting")).as("by the first sweep").isTrue();

        agenda.takeDue(Instant.MAX, _ -> true);
        enqueue("new");
        for (int i = 0; i < 6; i++) {
          sweepUntilFinished(); // a search of recent tasks takes as long as of all
        }

        assertThat(isKnown("new")).as("by later sweeps").isTrue();
      }
      snapshot.rollback();
    }
  }

  private void sweepWhole(Db db) {
    String statement = Sql.forPartition(QueueSweep.SWEEP, Partition.of(world.clock.instant()));
    db.autoCommit(tx -> tx.query(statement, row -> row.getInt("lane")));
  }

  /** On a busy machine a statement may exceed the timeout because it was not run. */
  private void sweepUntilFinished() {
    for (int tries = 0; tries < 50; tries++) {
      try {
        sweepNow();
        return;
      } catch (StoreException e) {
        assertThat(e.isTooMuch()).isTrue();
      }
    }
    throw new AssertionError("no sweep was finished");
  }

  /** Leaves the dead rows of tasks that waited before the one of the test. */
  private void claimOlderTasks(int number) {
    String queue = "carillon.queue_" + Partition.of(world.clock.instant()).suffix();
    world.sql(
        """
        INSERT INTO %1$s (ready_at, id, lane, partition, attempt, fence, payload_bytes)
        SELECT ready_at - n * interval '1 millisecond', gen_random_uuid(), lane, partition, 0, 0, 0
        FROM %1$s
        CROSS JOIN generate_series(1, %2$d) AS n
        """
            .formatted(queue, number));
    world.sql(
        "DELETE FROM %1$s WHERE ready_at < (SELECT max(ready_at) FROM %1$s)".formatted(queue));
  }

  private void enqueue(String type) {
    world.sql("SELECT carillon.enqueue('" + type + "')");
    world.catalog.refresh();
  }

  private void makeOld(String type) {
    world.sql(
        """
        WITH old AS (
            UPDATE carillon.task
            SET ready_at = now() - interval '1 hour'
            WHERE lane = (SELECT id FROM carillon.lane WHERE type = '%s')
            RETURNING id, ready_at
        )
        UPDATE carillon.queue q
        SET ready_at = old.ready_at
        FROM old
        WHERE q.id = old.id
        """
            .formatted(type));
  }

  private void sweepNow() {
    sweep.sweep(world.clock.instant());
  }

  private boolean isKnown(String type) {
    String lane = world.value("SELECT id FROM carillon.lane WHERE type = '" + type + "'");
    return agenda.isDue(Integer.parseInt(lane), Instant.MAX);
  }

  /** A statement that waits for a lock is ended by the same timeout as one that reads for long. */
  private void whileSweepsTakeTooLong(Runnable action) throws SQLException {
    Partition today = Partition.of(world.clock.instant());
    try (Connection connection = Postgres.connect(world.address);
        Statement statement = connection.createStatement()) {
      connection.setAutoCommit(false);
      statement.execute("LOCK TABLE carillon.queue_" + today.suffix());
      action.run();
      connection.rollback();
    }
  }
}
