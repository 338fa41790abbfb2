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

/** That a loop works again is logged when it has done its work, and not while it cannot. */
class LoopRecoveryTest {

  private final List<String> lines = new CopyOnWriteArrayList<>();
  private final AppenderBase<ILoggingEvent> appender =
      new AppenderBase<>() {
        @Override
        protected void append(ILoggingEvent event) {
          lines.add(event.getFormattedMessage());
        }
      };
  private final AtomicInteger asked = new AtomicInteger();
  private volatile Duration trust = Duration.ofMinutes(1);
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
    asked.incrementAndGet();
    return NodeLease.renewed("node", System.nanoTime(), trust);
  }

  private List<String> worksAgain() {
    return lines.stream().filter(line -> line.contains("pass recovered")).toList();
  }

  @Test
  void a_claimer_that_does_not_trust_its_lease_does_not_work_again() {
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

      trust = Duration.ZERO;
      for (int pass = 0; pass < 3; pass++) {
        int before = asked.get();
        loop.wake();
        await().until(() -> asked.get() > before);
      }
      assertThat(worksAgain()).isEmpty();

      world.sql("DROP TRIGGER refuse ON carillon.claim");
      trust = Duration.ofMinutes(1);
      await().until(() -> worksAgain().size() == 1);
      assertThat(worksAgain()).allMatch(line -> line.contains("loop=claimer"));
    }
    node.close();
  }
}
