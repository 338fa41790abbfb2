package carillon.bench.dashboard;

import carillon.bench.systems.CarillonServer;
import carillon.bench.systems.Tasks;
import carillon.bench.systems.Wire;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Creates immediately due tasks at a fixed rate until it is closed. */
final class SteadyLoad implements AutoCloseable {

  private static final int STEPS_PER_SECOND = 10;

  private final Wire wire;
  private final Thread thread;
  private volatile @Nullable IOException failure;

  private SteadyLoad(Wire wire, byte[] lines) {
    this.wire = wire;
    this.thread = Thread.ofPlatform().name("steady-load").start(() -> send(lines));
  }

  static SteadyLoad start(CarillonServer carillon, int perSecond) throws IOException {
    String type = carillon.newType(Map.of("target", Map.of("discard", Map.of())));
    byte[] lines = Tasks.lines(perSecond / STEPS_PER_SECOND, _ -> Tasks.task(type, ""));
    return new SteadyLoad(carillon.wire(null), lines);
  }

  private void send(byte[] lines) {
    long step = Duration.ofSeconds(1).toNanos() / STEPS_PER_SECOND;
    long next = System.nanoTime();
    try {
      while (!Thread.interrupted()) {
        wire.post("/v1/tasks/batch", "application/x-ndjson", lines);
        next += step;
        Thread.sleep(Duration.ofNanos(Math.max(0, next - System.nanoTime())));
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    } catch (IOException e) {
      failure = e; // thrown by close()
    }
  }

  @Override
  public void close() throws IOException {
    thread.interrupt();
    try {
      thread.join();
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
    wire.close();
    if (failure != null) {
      throw new IOException("the load stopped early", failure);
    }
  }
}
