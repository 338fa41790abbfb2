package carillon.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.OutputStream;
import java.io.PrintStream;
import org.junit.jupiter.api.Test;

class DrainTest {

  private final Stage stage =
      new Stage(Sizes.FULL, new Progress(new PrintStream(OutputStream.nullOutputStream()), false));

  @Test
  void the_round_in_the_middle_counts() throws Exception {
    Figures figures = Drain.ALONE.run(new FakeWorker(3, 1, 2), stage);

    assertThat(figures.get(Metric.RATE)).isEqualTo(Sizes.FULL.drain() / 2.0);
    assertThat(figures.get(Metric.RATIO)).isNull();
  }

  @Test
  void what_is_disturbed_is_compared_with_a_drain_right_before() throws Exception {
    Figures figures = Drain.GROWTH.run(new FakeWorker(1, 1, 1, 4, 4, 4), stage);

    assertThat(figures.get(Metric.RATE)).isEqualTo(Sizes.FULL.drain() / 4.0);
    assertThat(figures.get(Metric.RATIO)).isEqualTo(0.25);
  }

  /** Says that it took so many seconds for one drain after the other. */
  private static final class FakeWorker implements Worker, Store {

    private final int[] seconds;
    private int drains;
    private long loaded;
    private long finished;

    FakeWorker(int... seconds) {
      this.seconds = seconds;
    }

    @Override
    public void load(int tasks) {
      loaded = tasks;
    }

    @Override
    public void loadFuture(int tasks) {}

    @Override
    public void release() {
      finished += loaded;
    }

    @Override
    public long finished() {
      return finished;
    }

    @Override
    public double seconds(long tasks) {
      return seconds[drains++];
    }

    @Override
    public Store store() {
      return this;
    }

    @Override
    public long pid() {
      return ProcessHandle.current().pid();
    }

    @Override
    public String settings() {
      return "";
    }

    @Override
    public String url() {
      return "";
    }

    @Override
    public double walBytes() {
      return Double.NaN;
    }

    @Override
    public double statements() {
      return Double.NaN;
    }

    @Override
    public void settle() {}

    @Override
    public void checkpoint() {}

    @Override
    public Snapshot holdSnapshot() {
      return () -> {};
    }

    @Override
    public void close() {}
  }
}
