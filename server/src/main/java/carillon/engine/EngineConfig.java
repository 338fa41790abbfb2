package carillon.engine;

import java.time.Duration;

/**
 * How hard one node works.
 *
 * @param concurrency attempts that run at once on this node. Default 512.
 * @param drainTimeout how long running attempts may continue at shutdown. Default 10 s.
 * @param poisonCrashes after this many crashes a task is dead. Default 3.
 * @param stuckAfter a pass without progress for longer than this is stuck. Default 20 s.
 */
public record EngineConfig(
    int concurrency, Duration drainTimeout, int poisonCrashes, Duration stuckAfter) {}
