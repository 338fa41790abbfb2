package carillon.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.model.cluster.NodeLease;
import carillon.testkit.FakeDeliverer;
import carillon.testkit.World;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/**
 * A loop logs that it recovered after a pass that did its work, and not after one that could not.
 */
class LoopRecoveryTest {

  private final List<String> lines = new CopyOnWriteArrayList<>();
  private final AppenderBase<ILoggingEvent> appender =
      new AppenderBase<>() {
        @Override
        protected void append(ILoggingEvent event) {
          lines.add(event.getFormattedMessage());
        }
      };
  private final AtomicInteger leaseReads = new AtomicInteger();
  private volatile Duration leaseTime = Duration.ofMinutes(1);
  private World world;

  @BeforeEach
  void open() {
    appender.start();
    ((Logger) LoggerFactory.getLogger(Loop.class)).addAppender(appender);
    world = World.create();
    world.node("node");
  }

  @AfterEach
  void close() {
    world.close();
    ((Logger) LoggerFactory.getLogger(Loop.class)).detachAppender(appender);
  }

  private NodeLease lease() {
    leaseReads.incrementAndGet();
    return NodeLease.renewed("node", System.nanoTime(), leaseTime);
  }

  private List<String> recoveries() {
    return lines.stream().filter(line -> line.contains("pass recovered")).toList();
  }

  @Test
  void a_claimer_without_a_valid_lease_does_not_log_that_it_recovered() {
    world.sql(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
            + " $$ BEGIN RAISE EXCEPTION 'no'; END $$");
    world.sql(
        "CREATE TRIGGER refuse BEFORE INSERT ON carillon.claim"
            + " FOR EACH STATEMENT EXECUTE FUNCTION refuse()");
    world.discard();
    var node = new ManualNode(world, this::lease, new FakeDeliverer(), _ -> {});
    Claimer claimer = node.claimer(new Seats(3));
    AtomicInteger failures = new AtomicInteger();
    try (Loop loop = Loop.of("claimer", claimer::claimOnce, _ -> failures.incrementAndGet())) {
      loop.start();
      await().until(() -> failures.get() > 0);

      leaseTime = Duration.ZERO;
      for (int pass = 0; pass < 3; pass++) {
        int before = leaseReads.get();
        loop.wake();
        await().until(() -> leaseReads.get() > before);
      }
      assertThat(recoveries()).isEmpty();

      world.sql("DROP TRIGGER refuse ON carillon.claim");
      leaseTime = Duration.ofMinutes(1);
      await().until(() -> recoveries().size() == 1);
      assertThat(recoveries()).allMatch(line -> line.contains("loop=claimer"));
    }
    node.close();
  }
}
