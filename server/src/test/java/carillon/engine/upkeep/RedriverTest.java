package carillon.engine.upkeep;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.model.cluster.Term;
import carillon.store.cluster.Leadership;
import carillon.store.db.Db;
import carillon.store.db.StoreException;
import carillon.store.deadletters.DeadLetterFilter;
import carillon.store.deadletters.Redrive;
import carillon.store.deadletters.Redrive.State;
import carillon.store.deadletters.Redrives;
import carillon.testkit.DeadTasks;
import carillon.testkit.World;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class RedriverTest {

  private World world;
  private Redriver redriver;

  @BeforeEach
  void open() {
    world = World.create();
    redriver = new Redriver(world.store.redrives());
  }

  @AfterEach
  void close() {
    world.close();
  }

  private Redrive start() {
    return world.db.inTransaction(
        tx ->
            world
                .store
                .redrives()
                .start(tx, World.TENANT, DeadLetterFilter.ALL, 10_000, "me")
                .orElseThrow());
  }

  private Redrive find(Redrive redrive) {
    return world.store.redrives().find(World.TENANT, redrive.id()).orElseThrow();
  }

  /** Starts redrives of another tenant that are older than all others. */
  private void startOthers(int redrives, String filter) {
    world.sql("INSERT INTO carillon.tenant (name) VALUES ('others')");
    world.sql(
        """
        INSERT INTO carillon.redrive (id, tenant, state, filter, ids, rate, who, created_at, matched, at_least)
        SELECT gen_random_uuid(), (SELECT id FROM carillon.tenant WHERE name = 'others'), 'RUNNING', '%s', '{}', 1,
               'others', now() - interval '1 hour', 1000, false
        FROM generate_series(1, %d)
        """
            .formatted(filter, redrives));
  }

  @Test
  void many_old_and_slow_redrives_of_one_tenant_do_not_starve_another_tenant() {
    DeadTasks.fill(world, 10, 1);
    startOthers(150, "{\"all\": true}"); // so slow that their first steps redrive nothing
    Redrive ours = start();

    for (int pass = 0; pass < 2; pass++) {
      redriver.redriveOnce();
    }

    assertThat(find(ours).state()).isEqualTo(State.DONE);
  }

  @Test
  void a_node_that_lost_leadership_leaves_a_redrive_unchanged() {
    DeadTasks.fill(world, 10, 1);
    Redrive ours = start();
    Optional<Term> term = new Leadership(world.db).take("node", Duration.ofMinutes(1));
    AtomicInteger termReads = new AtomicInteger();
    Db losesTerm =
        world.db.onlyInTerm(() -> termReads.incrementAndGet() == 2 ? Optional.empty() : term);

    assertThatThrownBy(new Redriver(new Redrives(losesTerm, world.agenda))::redriveOnce)
        .isInstanceOfSatisfying(StoreException.class, e -> assertThat(e.isStaleTerm()).isTrue());

    assertThat(termReads).as("reads of the term; postponing would read it again").hasValue(2);
    assertThat(find(ours).state()).isEqualTo(State.RUNNING);
  }

  @Test
  void failing_redrives_do_not_block_the_others() {
    DeadTasks.fill(world, 10, 1);
    startOthers(150, "{\"failure\": \"no such thing\"}");
    Redrive ours = start();

    for (int pass = 0; pass < 2; pass++) {
      assertThat(redriver.redriveOnce()).isLessThanOrEqualTo(Duration.ofSeconds(1));
    }

    assertThat(find(ours).state()).isEqualTo(State.DONE);
    assertThat(world.value("SELECT count(*) FROM carillon.redrive WHERE ended_at IS NULL"))
        .isEqualTo("150");
  }
}
