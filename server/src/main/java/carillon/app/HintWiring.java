package carillon.app;

import carillon.engine.Announcer;
import carillon.engine.Engine;
import carillon.engine.Listener;
import carillon.engine.Loop;
import carillon.engine.Upkeep;
import carillon.model.Hint;
import carillon.store.Agenda;
import carillon.store.Catalog;
import carillon.store.Db;
import carillon.store.DbClock;
import carillon.store.Hints;
import carillon.store.WorkQueue;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Constructs what lets nodes tell one another that there is something to look at. Everything works
 * without it, a second later.
 */
final class HintWiring {

  private final String self;
  private final Hints hints;
  private final Announcer announcer;
  private final Catalog catalog;
  private final Agenda agenda;
  private final Consumer<String> whenFailed;
  private final Shutdown shutdown;

  private HintWiring(
      Db.Address address,
      Db db,
      ClusterWiring cluster,
      Catalog catalog,
      Agenda agenda,
      DbClock clock,
      Consumer<String> whenFailed,
      Shutdown shutdown) {
    byte[] name = new byte[6];
    new SecureRandom().nextBytes(name);
    this.self = HexFormat.of().formatHex(name);
    this.hints = new Hints(db, address);
    this.catalog = catalog;
    this.agenda = agenda;
    this.whenFailed = whenFailed;
    this.shutdown = shutdown;
    this.announcer =
        new Announcer(
            self, catalog, lane -> cluster.heartbeat().view().isOurs(lane), clock, hints::send);
  }

  /**
   * From now on other nodes are told what concerns them, until everything that is added to the
   * shutdown later has stopped.
   *
   * @param db with a connection that nobody else uses
   */
  static HintWiring start(
      Db.Address address,
      Db db,
      ClusterWiring cluster,
      Catalog catalog,
      Agenda agenda,
      DbClock clock,
      Consumer<String> whenFailed,
      Shutdown shutdown) {
    var wiring = new HintWiring(address, db, cluster, catalog, agenda, clock, whenFailed, shutdown);
    Announcer announcer = wiring.announcer;
    agenda.shareWith(announcer);
    cluster.whenMoved(() -> announcer.tell(Hint.News.SHARDS));
    Loop announcing = announcer.loop(whenFailed).start();
    shutdown.add(
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
  void listen(ClusterWiring cluster, WorkQueue queue, Optional<Engine> engine, Upkeep upkeep) {
    Listener listener =
        new Listener(self, hints, queue, catalog, agenda, announcer)
            .when(Hint.News.MEMBERS, cluster::membersChanged)
            .when(Hint.News.SHARDS, cluster::shardsChanged)
            .when(Hint.News.SCHEDULES, upkeep::planNow)
            .when(Hint.News.MUCH, () -> engine.ifPresent(Engine::lookAround));
    Loop listening = listener.loop(whenFailed).start();
    shutdown.add(
        () -> {
          listening.stop();
          hints.close();
          listening.close();
        });
    announcer.tell(Hint.News.MEMBERS); // here we are
  }
}
