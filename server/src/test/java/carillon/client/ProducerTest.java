package carillon.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.testkit.Postgres;
import carillon.testkit.Servers;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class ProducerTest {

  @RegisterExtension static final Servers servers = new Servers();

  private static Carillon carillon;

  @BeforeAll
  static void start() {
    carillon = servers.startOn(Postgres.freshDatabase()).connect();
  }

  @AfterAll
  static void close() {
    carillon.close();
  }

  @Test
  void a_task_is_stored_with_all_its_fields() {
    Instant due = Instant.parse("2027-03-28T01:00:00.123Z");
    CreatedTask created =
        carillon.enqueue(
            NewTask.of("described")
                .payload(Map.of("n", 1.5))
                .key("k")
                .delay(Duration.ofMinutes(1))
                .dueAt(due)
                .priority(9)
                .metadata("a", "1")
                .metadata("b", "2")
                .retry(Map.of("maxAttempts", 3)));

    TaskView task = carillon.task(created.id()).orElseThrow();

    assertThat(created.isNew()).isTrue();
    assertThat(task.type()).isEqualTo("described");
    assertThat(task.key()).isEqualTo("k");
    assertThat(task.status()).isEqualTo(TaskStatus.PENDING);
    assertThat(task.dueAt()).isEqualTo(due);
    assertThat(task.maxAttempts()).isEqualTo(3);
    assertThat(task.payload().path("n").asDouble()).isEqualTo(1.5);
    assertThat(task.json().path("metadata").toString()).isEqualTo("{\"a\":\"1\",\"b\":\"2\"}");
    assertThat(carillon.task(UUID.fromString("01920000-0000-7000-8000-000000000000"))).isEmpty();
  }

  @Test
  void tasks_with_the_same_idempotency_key_or_unique_key_are_created_once() {
    NewTask keyed = NewTask.of("keyed").payload(1).idempotencyKey("mine-1");
    NewTask unique = NewTask.of("unique").key("k").uniqueFor(Duration.ofHours(1));

    assertThat(carillon.enqueue(keyed).id()).isEqualTo(carillon.enqueue(keyed).id());
    CreatedTask first = carillon.enqueueAsync(unique).join();
    CreatedTask second = carillon.enqueueAsync(unique).join();

    assertThat(first.isNew()).isTrue();
    assertThat(second).isEqualTo(new CreatedTask(first.id(), false));
  }

  @Test
  void background_tasks_are_created_once_and_an_invalid_one_fails_alone() {
    List<CompletableFuture<CreatedTask>> created = new ArrayList<>();
    for (int i = 0; i < 5_000; i++) {
      NewTask task = NewTask.of("background").payload(i).delay(Duration.ofDays(1));
      created.add(carillon.enqueueAsync(i == 2_500 ? task.priority(99) : task));
    }
    CompletableFuture<CreatedTask> invalid = created.remove(2_500);

    List<UUID> ids = created.stream().map(CompletableFuture::join).map(CreatedTask::id).toList();

    assertThat(ids).doesNotHaveDuplicates().hasSize(4_999);
    assertThatThrownBy(invalid::join)
        .isInstanceOf(CompletionException.class)
        .hasCauseInstanceOf(CarillonException.class)
        .hasMessageContaining("priority");
    assertThat(carillon.task(ids.get(3_000)).orElseThrow().payload().asInt()).isEqualTo(3_001);
    assertThat(
            carillon
                .post("/v1/tasks/cancel", Map.of("type", "background"))
                .path("cancelled")
                .asInt())
        .isEqualTo(4_999);
  }

  @Test
  void a_batch_is_all_or_nothing_and_idempotent_per_key() {
    List<NewTask> tasks = List.of(NewTask.of("batch").payload(1), NewTask.of("batch").payload(2));

    List<UUID> ids = carillon.enqueueAll(tasks, "batch-1");

    assertThat(carillon.enqueueAll(tasks, "batch-1")).isEqualTo(ids).hasSize(2);
    assertThat(carillon.enqueueAll(List.of())).isEmpty();
    assertThatThrownBy(() -> carillon.enqueueAll(List.of(tasks.get(0), NewTask.of("bad type"))))
        .isInstanceOf(CarillonException.class)
        .hasMessageContaining("/tasks/1/type");
    assertThat(Lists.all(carillon, "/v1/tasks?type=batch")).hasSize(2);
  }

  @Test
  void a_task_read_from_its_json_is_equal() {
    NewTask task = NewTask.of("noted").payload(Map.of("a", 1)).key("k").metadata("m", "1");
    NewTask read = NewTask.fromJson(task.json(carillon.mapper()));

    assertThat(read.metadata("n", "2").json(carillon.mapper()).toString())
        .isEqualTo(task.metadata("n", "2").json(carillon.mapper()).toString());
    assertThat(read.type()).isEqualTo("noted");
  }

  @Test
  void tasks_are_cancelled_by_id_and_by_key() {
    UUID id = carillon.enqueue(NewTask.of("cancel").delay(Duration.ofDays(1))).id();
    carillon.enqueue(NewTask.of("cancel").key("k").delay(Duration.ofDays(1)));
    carillon.enqueue(NewTask.of("cancel").key("k").delay(Duration.ofDays(1)));

    assertThat(carillon.cancel(id)).isEqualTo(CancelResult.CANCELLED);
    assertThat(carillon.cancel(id)).isEqualTo(CancelResult.CANCELLED);
    assertThat(carillon.cancel("cancel", "k")).isEqualTo(2);
    assertThat(carillon.cancel(UUID.fromString("01920000-0000-7000-8000-000000000000")))
        .isEqualTo(CancelResult.NOT_FOUND);
  }

  @Test
  void a_schedule_is_created_paused_triggered_and_deleted() {
    carillon.putSchedule(
        NewSchedule.cron("nightly", "0 2 * * *")
            .timezone("Europe/Berlin")
            .type("report")
            .payload(Map.of("all", true)));
    carillon.pauseSchedule("nightly");
    boolean isPaused = carillon.schedule("nightly").orElseThrow().path("paused").asBoolean();
    carillon.resumeSchedule("nightly");
    UUID task = carillon.triggerSchedule("nightly");

    assertThat(isPaused).isTrue();
    assertThat(carillon.schedule("nightly").orElseThrow().path("paused").asBoolean()).isFalse();
    assertThat(carillon.task(task).orElseThrow().payload().path("all").asBoolean()).isTrue();
    assertThat(carillon.deleteSchedule("nightly")).isTrue();
    assertThat(carillon.deleteSchedule("nightly")).isFalse();
    assertThat(carillon.schedule("nightly")).isEmpty();
  }
}
