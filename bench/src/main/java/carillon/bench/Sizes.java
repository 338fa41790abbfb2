package carillon.bench;

import java.time.Duration;

/**
 * How much of everything.
 *
 * @param warmUp tasks drained before anything is measured, so that the JIT has seen the code
 * @param drain tasks of drain, growth, snapshot and lanes
 * @param future tasks beside which growth drains
 * @param http tasks delivered over HTTP
 * @param pull tasks claimed by workers
 * @param burst tasks due at one instant
 * @param window over which the tasks of lateness are spread, 200 a second
 * @param enqueuing how long enqueue and bulk go on
 */
record Sizes(
    int warmUp,
    int drain,
    int future,
    int http,
    int pull,
    int burst,
    Duration window,
    Duration enqueuing) {

  static final Sizes QUICK =
      new Sizes(
          20_000,
          60_000,
          200_000,
          20_000,
          30_000,
          20_000,
          Duration.ofSeconds(6),
          Duration.ofSeconds(5));

  static final Sizes FULL =
      new Sizes(
          60_000,
          300_000,
          5_000_000,
          100_000,
          150_000,
          50_000,
          Duration.ofSeconds(30),
          Duration.ofSeconds(20));
}
