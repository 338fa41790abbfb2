package carillon.store;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.Lane;
import carillon.model.Target;
import carillon.testkit.Overlapping;
import carillon.testkit.World;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class CatalogTest {

  private static final String HOLD_LANES =
      """
      /* CatalogTest.holdLanes */
      LOCK TABLE carillon.lane IN ACCESS EXCLUSIVE MODE
      """;

  private World world;
  private Overlapping overlapping;

  @BeforeEach
  void open() {
    world = World.create();
    overlapping = new Overlapping(world);
    world.create(World.task("t", new Target.Pull()));
  }

  @AfterEach
  void close() {
    overlapping.close();
    world.close();
  }

  @Test
  void what_is_forgotten_while_somebody_reads_it_stays_so_until_it_is_read_again()
      throws Exception {
    world.catalog.forget();

    List<Integer> known =
        overlapping.runWaiting(
            tx -> tx.update(HOLD_LANES),
            () -> {
              world.catalog.refresh();
              return world.catalog.lanes().stream().map(Lane::id).toList();
            },
            world.catalog::forget);

    assertThat(known).as("what was read before").isEmpty();
    world.catalog.refresh();
    assertThat(world.catalog.lanes()).isNotEmpty();
  }
}
