package carillon.store.queue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.model.TenantId;
import carillon.model.target.Target;
import carillon.model.task.AlertRule;
import carillon.model.task.AlertSetting;
import carillon.model.task.Attempted;
import carillon.model.task.Callbacks;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.NewTask;
import carillon.model.task.Outcome;
import carillon.store.catalog.Tenants;
import carillon.store.db.Json;
import carillon.store.tasks.TaskFilter;
import carillon.store.tasks.TaskView;
import carillon.testkit.TestTypeSettings;
import carillon.testkit.World;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** A growing group of dead letters raises a single alert. */
class AlertsTest {

  private static final Target OPERATORS = http("https://example.com/operators");
  private static final Target HOOK = http("https://example.com/hook");
  private static final AlertRule RULE = new AlertRule(HOOK, 10, Duration.ofMinutes(5));

  private World world;

  @BeforeEach
  void open() {
    world = World.withAlerts(new AlertRule(OPERATORS, 3, Duration.ofMinutes(1)));
    world.node("node");
    alert(new AlertSetting.Own(RULE));
  }

  @AfterEach
  void close() {
    world.close();
  }

  private static Target http(String url) {
    return new Target.Http(url, "POST", Map.of(), null, null);
  }

  private TenantId alert(AlertSetting setting) {
    return world
        .store
        .tenants()
        .put("default", new Tenants.Settings(false, false, 1, setting, null), "test")
        .id();
  }

  private List<ClaimedTask> claim(TenantId tenant, String type, int tasks) {
    NewTask task = World.task(type, new Target.Discard());
    world.db.inTransaction(
        tx -> world.tasks.createAll(tx, tenant, Collections.nCopies(tasks, task)));
    List<ClaimedTask> claimed = new ArrayList<>();
    while (claimed.size() < tasks) {
      world.claim("node", tasks).stream()
          .filter(each -> each.type().equals(type))
          .forEach(claimed::add);
    }
    return claimed;
  }

  private static Attempted dead(ClaimedTask task, String error) {
    return new Attempted(
        task, new Outcome.Dead(new Failure(FailureKind.STATUS, error, 404, null), false));
  }

  /** Creates tasks and makes them die one after the other. */
  private void die(TenantId tenant, String type, int tasks, IntFunction<String> error) {
    List<ClaimedTask> claimed = claim(tenant, type, tasks);
    for (int i = 0; i < tasks; i++) {
      world
          .store
          .outcomes()
          .finishAttempts(List.of(dead(claimed.get(i), error.apply(i))), Set.of(), "node");
    }
  }

  private void die(String type, int tasks) {
    die(World.TENANT, type, tasks, i -> "404 for order " + i);
  }

  /** All alerts, oldest first. */
  private List<TaskView> alerts(TenantId tenant) {
    var filter = new TaskFilter(AlertRule.TYPE, null, null, null, null, null, null, Map.of());
    return world.tasks.list(tenant, filter, 1_000, null, true).items().reversed();
  }

  private List<TaskView> alerts() {
    return alerts(World.TENANT);
  }

  private static JsonNode payload(TaskView alert) {
    return Json.MAPPER.readTree(String.valueOf(alert.spec().payload()));
  }

  @Test
  void ten_thousand_deaths_of_one_kind_on_two_nodes_raise_one_alert() throws Exception {
    List<ClaimedTask> claimed = claim(World.TENANT, "t", 10_000);
    try (World other = world.anotherProcess();
        ExecutorService threads = Executors.newFixedThreadPool(6)) {
      List<Future<?>> deaths = new ArrayList<>();
      for (int from = 0; from < claimed.size(); from += 100) {
        World node = from % 200 == 0 ? world : other;
        List<Attempted> batch =
            claimed.subList(from, from + 100).stream()
                .map(task -> dead(task, "no order " + task.id()))
                .toList();
        deaths.add(
            threads.submit(() -> node.store.outcomes().finishAttempts(batch, Set.of(), "node")));
      }
      for (Future<?> death : deaths) {
        death.get();
      }
      assertThat(world.counters.alerts() + other.counters.alerts()).isEqualTo(1);
    }

    assertThat(world.value("SELECT letters FROM carillon.dead_letter_group")).isEqualTo("10000");
    assertThat(alerts()).hasSize(1);
  }

  @Test
  void an_alert_names_the_group_and_its_start() {
    die("t", 10);

    TaskView alert = alerts().getFirst();
    JsonNode payload = payload(alert);

    assertThat(alert.spec().target()).isEqualTo(HOOK);
    assertThat(alert.key())
        .isEqualTo(world.value("SELECT fingerprint FROM carillon.dead_letter_group"));
    assertThat(payload.get("event").asString()).isEqualTo("dead-letters.growing");
    assertThat(payload.get("tenant").asString()).isEqualTo("default");
    assertThat(payload.get("type").asString()).isEqualTo("t");
    assertThat(payload.get("group").asString()).isEqualTo(alert.key());
    assertThat(payload.get("failure").asString()).isEqualTo("status");
    assertThat(payload.get("status").asInt()).isEqualTo(404);
    assertThat(payload.get("error").asString()).isEqualTo("404 for order 9");
    assertThat(payload.get("deaths").asInt()).isEqualTo(10);
    assertThat(payload.get("within").asString()).isEqualTo("PT5M");
    assertThat(payload.get("firstSeenAt").asString())
        .isLessThan(payload.get("lastSeenAt").asString());
  }

  @Test
  void each_group_of_dead_letters_raises_its_own_alert() {
    die(World.TENANT, "t", 20, i -> i % 2 == 0 ? "no such order" : "no such customer");
    die("u", 10);

    assertThat(alerts().stream().map(alert -> payload(alert).get("type").asString()))
        .containsExactly("t", "t", "u");
    assertThat(alerts()).extracting(TaskView::key).doesNotHaveDuplicates();
  }

  @Test
  void fewer_deaths_than_the_rule_requires_raise_no_alert() {
    die("t", 9);

    assertThat(alerts()).isEmpty();
  }

  @Test
  void deaths_outside_the_window_do_not_count() {
    die("t", 9);
    world.sql("UPDATE carillon.dead_letter SET died_at = died_at - interval '6 minutes'");

    die("t", 9);

    assertThat(alerts()).isEmpty();
  }

  @Test
  void a_group_raises_another_alert_after_a_quiet_hour() {
    die("t", 15);
    pass("59 minutes");
    die("t", 15);
    assertThat(alerts()).as("alerts for the same incident").hasSize(1);

    pass("59 minutes");
    die("t", 1);
    pass("59 minutes");
    die("t", 15);
    assertThat(alerts()).as("alerts without a quiet hour in between").hasSize(1);

    pass("61 minutes");
    die("t", 9);
    assertThat(alerts()).as("alerts after a quiet hour and too few deaths").hasSize(1);
    die("t", 1);
    assertThat(alerts()).as("alerts after a new incident").hasSize(2);
  }

  /** Makes all deaths and alerts older. */
  private void pass(String time) {
    String older = "- interval '" + time + "'";
    world.sql("UPDATE carillon.dead_letter SET died_at = died_at " + older);
    world.sql(
        "UPDATE carillon.dead_letter_group SET first_at = first_at %s, last_at = last_at %s, alerted_at = alerted_at %s, alert_until = alert_until %s"
            .formatted(older, older, older, older));
  }

  @Test
  void callbacks_and_alerts_that_die_raise_no_alert() {
    die(Callbacks.TYPE, 20);
    die(AlertRule.TYPE, 20);

    assertThat(world.counters.alerts()).isZero();
    assertThat(alerts()).hasSize(20).allMatch(task -> "{}".equals(task.spec().payload()));
  }

  @Test
  void deaths_that_are_rolled_back_raise_no_alert() {
    List<ClaimedTask> claimed = claim(World.TENANT, "t", 10);
    List<ClaimEnding> endings =
        claimed.stream().map(task -> ClaimEnding.of(dead(task, "404"))).toList();

    assertThatThrownBy(
            () ->
                world.db.inTransaction(
                    tx -> {
                      world.store.outcomes().finishReported(tx, endings, "node");
                      throw new IllegalStateException("on the last line");
                    }))
        .hasMessage("on the last line");

    assertThat(alerts()).isEmpty();
    assertThat(world.counters.alerts()).isZero();
    world.db.inTransaction(tx -> world.store.outcomes().finishReported(tx, endings, "node"));
    assertThat(alerts()).hasSize(1);
  }

  @Test
  void a_tenant_without_a_rule_uses_that_of_the_installation() {
    TenantId quiet =
        world
            .store
            .tenants()
            .put(
                "quiet",
                new Tenants.Settings(true, false, 1, new AlertSetting.Inherited(), null),
                "test")
            .id();
    world.store.types().put(quiet, "t", TestTypeSettings.DEFAULT, "test", null);

    die(quiet, "t", 3, _ -> "404");

    assertThat(alerts(quiet)).isEmpty();
    assertThat(alerts()).extracting(task -> task.spec().target()).containsExactly(OPERATORS);
    assertThat(payload(alerts().getFirst()).get("tenant").asString()).isEqualTo("quiet");
  }

  @Test
  void a_tenant_can_turn_alerts_off() {
    alert(new AlertSetting.Off());

    die("t", 20);

    assertThat(alerts()).isEmpty();
  }

  @Test
  void a_strict_tenant_gets_alerts() {
    TenantId strict =
        world
            .store
            .tenants()
            .put(
                "strict",
                new Tenants.Settings(true, false, 1, new AlertSetting.Own(RULE), null),
                "test")
            .id();
    world.store.types().put(strict, "t", TestTypeSettings.DEFAULT, "test", null);

    die(strict, "t", 10, _ -> "404");

    assertThat(alerts(strict)).extracting(task -> task.spec().target()).containsExactly(HOOK);
    assertThat(alerts()).isEmpty();
  }
}
