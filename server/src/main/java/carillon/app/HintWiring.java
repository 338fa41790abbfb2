package carillon.app;

import carillon.engine.Announcer;
import carillon.engine.EngineEvent;
import carillon.engine.Listener;
import carillon.engine.Loop;
import carillon.engine.upkeep.Upkeep;
import carillon.model.cluster.Hint;
import carillon.store.catalog.Catalog;
import carillon.store.cluster.Hints;
import carillon.store.db.Db;
import carillon.store.db.DbClock;
import carillon.store.db.Pooler;
import carillon.store.queue.Agenda;
import carillon.store.queue.WorkQueue;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Constructs what lets nodes tell one another that there is something to look at. Everything works
 * without it, a second later; and without it it is behind a pooler, where nobody can listen.
 */
final class HintWiring {

  private final String self;
  private final Shutdown shutdown;
  private final Memory memory;
  private final Consumer<String> whenFailed;
  private final @Nullable Hints hints;
  private final Announcer announcer;

  /** What this process knows. */
  record Memory(WorkQueue queue, Catalog catalog, Agenda agenda, DbClock clock) {}

  private HintWiring(Pools pools, ClusterWiring cluster, Memory memory) {
    byte[] name = new byte[6];
    new SecureRandom().nextBytes(name);
    this.self = HexFormat.of().formatHex(name);
    this.shutdown = pools.shutdown();
    this.memory = memory;
    this.whenFailed = loop -> pools.metrics().accept(new EngineEvent.PassFailed(loop));
    this.hints =
        pools.address().pooler() == Pooler.NONE
            ? new Hints(pools.open(new Db.Pool("hints", 1)), pools.address())
            : null;
    if (hints != null) {
      pools.count("hints", 1); // the one that listens
    }
    this.announcer =
        new Announcer(
            self,
            memory.catalog(),
            cluster.heartbeat()::view,
            memory.clock(),
            hints == null ? _ -> {} : hints::send);
  }

  /**
   * From now on other nodes are told what concerns them, until everything that is added to the
   * shutdown later has stopped.
   */
  static HintWiring start(Pools pools, ClusterWiring cluster, Memory memory) {
    var wiring = new HintWiring(pools, cluster, memory);
    Announcer announcer = wiring.announcer;
    if (wiring.hints == null) {
      memory.queue().isToldNothing();
    }
    memory.agenda().shareWith(announcer);
    cluster.whenMoved(() -> announcer.tell(Hint.News.SHARDS));
    Loop announcing = announcer.loop(wiring.whenFailed).start();
    pools
        .shutdown()
        .add(
            () -> {
              announcing.close();
              announcer.announceOnce(); // what was given back last
            });
    return wiring;
  }

  Announcer announcer() {
    return announcer;
  }

  /** Begins to hear what other nodes tell. */
  void listen(ClusterWiring cluster, Upkeep upkeep) {
    Hints heard = hints;
    if (heard == null) {
      return;
    }
    Listener listener =
        new Listener(self, heard, memory.queue(), memory.catalog(), memory.agenda(), announcer)
            .when(Hint.News.MEMBERS, cluster::membersChanged)
            .when(Hint.News.SHARDS, cluster::shardsChanged)
            .when(Hint.News.SCHEDULES, upkeep::planNow);
    Loop listening = listener.loop(whenFailed).start();
    shutdown.add(
        () -> {
          listening.stop();
          heard.close();
          listening.close();
        });
    announcer.tell(Hint.News.MEMBERS); // here we are
  }
}
