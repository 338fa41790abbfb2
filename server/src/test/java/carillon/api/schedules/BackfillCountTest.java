package carillon.api.schedules;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.api.TestApi;
import carillon.api.error.ErrorCode;
import carillon.model.cron.Timetable;
import carillon.store.schedules.StoredSchedule;
import carillon.testkit.ScheduleRows;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Counting the nominal times of a backfill can take long but blocks no other requests. */
class BackfillCountTest {

  private static final String RANGE =
      "{\"from\": \"2025-10-01T10:00:00Z\", \"to\": \"2025-10-01T10:10:00Z\"}";

  private final CountDownLatch counting = new CountDownLatch(2);
  private final CountDownLatch resume = new CountDownLatch(1);

  private Timetable slow(StoredSchedule schedule) {
    counting.countDown();
    try {
      assertThat(resume.await(30, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    return schedule.timetable();
  }

  private static TestApi.Reply backfill(TestApi api) {
    return api.post("/v1/schedules/nightly/backfill").json(RANGE).send();
  }

  @Test
  void two_backfills_are_counted_at_a_time_without_holding_the_database() throws Exception {
    try (TestApi api = TestApi.start(1, this::slow);
        ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      new ScheduleRows(api.world).every("nightly", 300);
      List<Future<TestApi.Reply>> two =
          List.of(threads.submit(() -> backfill(api)), threads.submit(() -> backfill(api)));
      try {
        assertThat(counting.await(30, TimeUnit.SECONDS)).isTrue();

        api.get("/v1/schedules/nightly").send().expect(200);
        TestApi.Reply third = backfill(api).expect(ErrorCode.OVERLOADED);
        assertThat(third.header("Retry-After")).isEqualTo("1");
      } finally {
        resume.countDown();
      }
      for (Future<TestApi.Reply> each : two) {
        each.get().expect(202);
      }
    }
  }
}
