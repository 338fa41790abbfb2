package carillon.engine;

import java.time.Duration;

/**
 * How hard one node works.
 *
 * @param concurrency attempts that run at once on this node. Default 512.
 * @param drainTimeout how long running attempts may go on at shutdown. Default 10 s.
 */
public record EngineConfig(int concurrency, Duration drainTimeout) {}
