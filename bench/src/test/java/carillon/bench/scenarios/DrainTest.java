package carillon.bench.scenarios;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.systems.Store;
import carillon.bench.systems.Worker;
import java.io.OutputStream;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class DrainTest {

  private final Stage stage =
      new Stage(Sizes.FULL, new Progress(new PrintStream(OutputStream.nullOutputStream()), false));

  @Test
  void the_median_round_counts() throws Exception {
    Figures figures = Drain.ALONE.run(new FakeWorker(3, 1, 2), stage);

    assertThat(figures.get(Metric.RATE)).isEqualTo(Sizes.FULL.drain() / 2.0);
    assertThat(figures.get(Metric.RATIO)).isNull();
  }

  @Test
  void each_alternating_system_has_its_median_round_and_is_stopped() throws Exception {
    FakeWorker slow = new FakeWorker(30, 10, 20);
    FakeWorker fast = new FakeWorker(3, 1, 2);
    Turn<FakeWorker> first = new Turn<>("slow", () -> slow, Drain.ALONE);
    Turn<FakeWorker> second = new Turn<>("fast", () -> fast, Drain.ALONE);
    List<Turn<FakeWorker>> turns = List.of(first, second);
    for (Turn<FakeWorker> turn : turns) {
      turn.start(stage);
    }

    for (int round = 0; round < 3; round++) {
      for (Turn<FakeWorker> turn : turns) {
        turn.round(stage);
      }
    }
    first.close();
    second.close();

    assertThat(first.median().get(Metric.RATE)).isEqualTo(Sizes.FULL.drain() / 20.0);
    assertThat(second.median().get(Metric.RATE)).isEqualTo(Sizes.FULL.drain() / 2.0);
    assertThat(slow.isClosed && fast.isClosed).isTrue();
  }

  @Test
  void disturbed_and_undisturbed_drains_alternate_and_the_median_pair_counts() throws Exception {
    FakeWorker worker = new FakeWorker(1, 2, 4, 5, 8, 80);

    Figures figures = Drain.SNAPSHOT.run(worker, stage);

    assertThat(worker.underSnapshot).containsExactly(false, true, false, true, false, true);
    assertThat(figures.get(Metric.RATE)).isEqualTo(Sizes.FULL.drain() / 2.0);
    assertThat(figures.get(Metric.BASE)).isEqualTo((double) Sizes.FULL.drain());
    assertThat(figures.get(Metric.RATIO)).isEqualTo(0.5);
  }

  @Test
  void a_drain_next_to_future_tasks_alternates_with_one_without() throws Exception {
    FakeWorker grown = new FakeWorker(4, 4, 4);
    FakeWorker alone = new FakeWorker(1, 1, 1);

    Figures figures = new Growth(() -> alone).run(grown, stage);

    assertThat(grown.future).isEqualTo(Sizes.FULL.future());
    assertThat(alone.future).isZero();
    assertThat(alone.isClosed).isTrue();
    assertThat(figures.get(Metric.RATE)).isEqualTo(Sizes.FULL.drain() / 4.0);
    assertThat(figures.get(Metric.BASE)).isEqualTo((double) Sizes.FULL.drain());
    assertThat(figures.get(Metric.RATIO)).isEqualTo(0.25);
  }

  /** A worker whose drains take the given numbers of seconds, one after the other. */
  private static final class FakeWorker implements Worker, Store {

    private final int[] seconds;
    private int drains;
    private long loaded;
    private long finished;
    private long future;
    private boolean isHeld;
    private boolean isClosed;
    private final List<Boolean> underSnapshot = new ArrayList<>();

    FakeWorker(int... seconds) {
      this.seconds = seconds;
    }

    @Override
    public void load(int tasks) {
      loaded = tasks;
    }

    @Override
    public void loadFuture(int tasks) {
      future += tasks;
    }

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
      underSnapshot.add(isHeld);
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
      isHeld = true;
      return () -> isHeld = false;
    }

    @Override
    public void close() {
      isClosed = true;
    }
  }
}
