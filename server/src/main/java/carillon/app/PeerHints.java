package carillon.app;

import carillon.engine.Announcer;
import carillon.engine.HintListener;
import carillon.engine.Loop;
import carillon.model.Signals;
import carillon.model.cluster.ClusterView;
import carillon.model.cluster.Hint;
import carillon.store.Memory;
import carillon.store.cluster.Hints;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Sends hints to the other nodes and receives theirs. Without hints, nodes find the same work by
 * their next sweep. Behind a pooler there are none, because a session cannot LISTEN there.
 */
final class PeerHints {

  private final String self;
  private final Memory memory;
  private final Metrics metrics;
  private final Lifecycle lifecycle;
  private final @Nullable Hints hints;
  private final Announcer announcer;

  private PeerHints(
      Pools pools,
      Memory memory,
      Supplier<ClusterView> view,
      Metrics metrics,
      Lifecycle lifecycle) {
    byte[] name = new byte[6];
    new SecureRandom().nextBytes(name);
    this.self = HexFormat.of().formatHex(name);
    this.memory = memory;
    this.metrics = metrics;
    this.lifecycle = lifecycle;
    this.hints = pools.isPooled() ? null : new Hints(pools.open("hints", 1), pools.address());
    if (hints != null) {
      pools.count("hints", 1); // the connection that listens
    }
    this.announcer =
        new Announcer(
            self, memory.catalog(), view, memory.clock(), hints == null ? _ -> {} : hints::send);
  }

  /** Sends hints until all parts that are added to the lifecycle later have stopped. */
  static PeerHints start(
      Pools pools,
      Memory memory,
      Supplier<ClusterView> view,
      Metrics metrics,
      Lifecycle lifecycle) {
    var peers = new PeerHints(pools, memory, view, metrics, lifecycle);
    Announcer announcer = peers.announcer;
    if (peers.hints == null) {
      memory.sweep().sweepWithoutHints();
    }
    memory.agenda().shareWith(announcer);
    Signals signals = memory.signals();
    signals.shardsMoved().add(() -> announcer.announce(Hint.News.SHARDS));
    signals.scheduleSaved().add(() -> announcer.announce(Hint.News.SCHEDULES));
    Loop announcing = announcer.loop(metrics::passFailed).start();
    lifecycle.onStop(
        "announcer",
        () -> {
          announcing.close();
          announcer.announceOnce(); // the tasks that were released last
        });
    return peers;
  }

  /** Starts to receive hints, and announces this node. */
  void listen() {
    Hints received = hints;
    if (received == null) {
      return;
    }
    HintListener listener = new HintListener(self, received, memory, announcer);
    Loop listening = listener.loop(metrics::passFailed).start();
    lifecycle.onStop(
        "listener",
        () -> {
          listening.stop();
          received.close();
          listening.close();
        });
    announceMembers();
  }

  void announceMembers() {
    announcer.announce(Hint.News.MEMBERS);
  }

  /** From now on this node owns no lanes: the tasks it releases are hinted to others. */
  void disownLanes() {
    announcer.disownLanes();
  }
}
