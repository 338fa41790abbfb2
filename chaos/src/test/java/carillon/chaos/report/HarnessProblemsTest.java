package carillon.chaos.report;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.chaos.cluster.HarnessThread;
import carillon.chaos.history.Event;
import carillon.chaos.history.Fields;
import carillon.chaos.history.History;
import carillon.chaos.history.Kind;
import carillon.chaos.history.Recorder;
import java.io.IOException;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HarnessProblemsTest {

  private static final String SQL_ERROR = "org.postgresql.util.PSQLException: refused";

  @TempDir private Path directory;
  private final List<Event> events = new ArrayList<>();

  private void add(String what, Fields fields) {
    long seq = events.size() + 1L;
    events.add(new Event(seq, 0, seq, null, Kind.EVENT, what, fields));
  }

  private static Fields fault(String fault) {
    return Fields.of("fault", fault).and("id", fault);
  }

  private List<String> problems() {
    return HarnessProblems.in(History.of(events, List.of()));
  }

  @Test
  void a_failed_thread_is_a_problem() throws IOException, InterruptedException {
    try (Recorder recorder =
        new Recorder(directory.resolve(History.EVENTS), InstantSource.system())) {
      HarnessThread.start(
              recorder,
              "client-1",
              () -> {
                throw new AssertionError("no more");
              })
          .join();
    }

    assertThat(HarnessProblems.in(History.read(directory)))
        .singleElement()
        .asString()
        .contains("client-1", "no more");
  }

  @Test
  void a_fault_may_fail_only_during_a_fault_of_the_database() {
    add("fault-start", fault("pg-crash"));
    add("fault-start", fault("lock-table"));
    add("fault-failed", fault("lock-table").and("error", SQL_ERROR));
    add("fault-end", fault("lock-table"));
    add("fault-end", fault("pg-crash"));
    assertThat(problems()).isEmpty();

    add("fault-start", fault("held-snapshot"));
    add("fault-failed", fault("held-snapshot").and("error", SQL_ERROR));
    assertThat(problems()).hasSize(1);

    add("fault-start", fault("pg-freeze"));
    add("fault-start", fault("kill9"));
    add("fault-failed", fault("kill9").and("error", "java.io.IOException: no"));
    assertThat(problems()).hasSize(2);
  }
}
