package carillon.model;

/**
 * Every wake-up between the parts of a node. A lost one costs at most a second: each loop also runs
 * on a timer.
 *
 * <pre>
 *   signal            raised by                           wakes
 *   workDue           agenda, catalog                     claimers, waiting pull requests
 *   scheduleSaved     schedules, on this node             cron planner; announcer (hints the peers)
 *   scheduleHinted    listener (saved on another node)    cron planner
 *   clusterChanged    heartbeat                           election, sweeper, claimers
 *   leadershipWon     election                            shard planner, heartbeat, upkeep
 *   shardsMoved       shard planner, on this node         heartbeat; announcer (hints the peers)
 *   shardsHinted      listener (moved by another node)    heartbeat
 *   membersChanged    listener, shutdown                  heartbeat, shard planner
 *   databaseReplaced  timeline (a standby was promoted)   memory forgets, open claims stay, then catalog refresh
 * </pre>
 *
 * A change and the hint of it are two signals: a node that announced received hints again would
 * echo them forever. The engine has three more inside: seats freed, outcome added, suspects
 * changed.
 */
public record Signals(
    Signal workDue,
    Signal scheduleSaved,
    Signal scheduleHinted,
    Signal clusterChanged,
    Signal leadershipWon,
    Signal shardsMoved,
    Signal shardsHinted,
    Signal membersChanged,
    Signal databaseReplaced) {

  public static Signals create() {
    return new Signals(
        new Signal(),
        new Signal(),
        new Signal(),
        new Signal(),
        new Signal(),
        new Signal(),
        new Signal(),
        new Signal(),
        new Signal());
  }
}
