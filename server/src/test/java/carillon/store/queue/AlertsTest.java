package carillon.store.queue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.model.TenantId;
import carillon.model.target.StatusRules;
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
import carillon.store.catalog.Types;
import carillon.store.db.Json;
import carillon.store.tasks.TaskFilter;
import carillon.store.tasks.TaskView;
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

/** A growing group of dead letters raises one alert. */
class AlertsTest {

  private static final Target OPERATORS = http("https://example.com/operators");
  private static final Target HOOK = http("https://example.com/hook");
  private static final AlertRule RULE = new AlertRule(HOOK, 10, Duration.ofMinutes(5));

  private World world;

  @BeforeEach
  void open() {
    world = World.alerting(new AlertRule(OPERATORS, 3, Duration.ofMinutes(1)));
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

  /** Makes tasks die one after the other. */
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

  /** Oldest first. */
  private List<TaskView> alerts(TenantId tenant) {
    var filter = new TaskFilter(AlertRule.TYPE, null, null, null, null, null, null, Map.of());
    return world.tasks.list(tenant, filter, 1_000, null, true).items().reversed();
  }

  private List<TaskView> alerts() {
    return alerts(World.TENANT);
  }

  private static JsonNode said(TaskView alert) {
    return Json.MAPPER.readTree(String.valueOf(alert.spec().payload()));
  }

  @Test
  void ten_thousand_deaths_of_one_kind_on_two_nodes_raise_one_alert() throws Exception {
    List<ClaimedTask> claimed = claim(World.TENANT, "t", 10_000);
    try (World other = world.beside();
        ExecutorService threads = Executors.newFixedThreadPool(6)) {
      List<Future<?>> deaths = new ArrayList<>();
      for (int from = 0; from < claimed.size(); from += 100) {
        World node = from % 200 == 0 ? world : other;
        List<Attempted> some =
            claimed.subList(from, from + 100).stream()
                .map(task -> dead(task, "no order " + task.id()))
                .toList();
        deaths.add(
            threads.submit(() -> node.store.outcomes().finishAttempts(some, Set.of(), "node")));
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
    JsonNode said = said(alert);

    assertThat(alert.spec().target()).isEqualTo(HOOK);
    assertThat(alert.key())
        .isEqualTo(world.value("SELECT fingerprint FROM carillon.dead_letter_group"));
    assertThat(said.get("event").asString()).isEqualTo("dead-letters.growing");
    assertThat(said.get("tenant").asString()).isEqualTo("default");
    assertThat(said.get("type").asString()).isEqualTo("t");
    assertThat(said.get("group").asString()).isEqualTo(alert.key());
    assertThat(said.get("failure").asString()).isEqualTo("status");
    assertThat(said.get("status").asInt()).isEqualTo(404);
    assertThat(said.get("error").asString()).isEqualTo("404 for order 9");
    assertThat(said.get("deaths").asInt()).isEqualTo(10);
    assertThat(said.get("within").asString()).isEqualTo("PT5M");
    assertThat(said.get("firstSeenAt").asString()).isLessThan(said.get("lastSeenAt").asString());
  }

  @Test
  void each_kind_has_its_own() {
    die(World.TENANT, "t", 20, i -> i % 2 == 0 ? "no such order" : "no such customer");
    die("u", 10);

    assertThat(alerts().stream().map(alert -> said(alert).get("type").asString()))
        .containsExactly("t", "t", "u");
    assertThat(alerts()).extracting(TaskView::key).doesNotHaveDuplicates();
  }

  @Test
  void below_the_number_there_is_none() {
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
  void after_a_quiet_hour_there_is_another_one() {
    die("t", 15);
    passes("59 minutes");
    die("t", 15);
    assertThat(alerts()).as("the same trouble").hasSize(1);

    passes("59 minutes");
    die("t", 1);
    passes("59 minutes");
    die("t", 15);
    assertThat(alerts()).as("there was no quiet hour").hasSize(1);

    passes("61 minutes");
    die("t", 9);
    assertThat(alerts()).as("new trouble, but little").hasSize(1);
    die("t", 1);
    assertThat(alerts()).as("new trouble").hasSize(2);
  }

  /** Makes everything that is known of deaths older. */
  private void passes(String time) {
    String older = "- interval '" + time + "'";
    world.sql("UPDATE carillon.dead_letter SET died_at = died_at " + older);
    world.sql(
        "UPDATE carillon.dead_letter_group SET first_at = first_at %s, last_at = last_at %s, alerted_at = alerted_at %s, alert_until = alert_until %s"
            .formatted(older, older, older, older));
  }

  @Test
  void callbacks_and_alerts_that_die_raise_none() {
    die(Callbacks.TYPE, 20);
    die(AlertRule.TYPE, 20);

    assertThat(world.counters.alerts()).isZero();
    assertThat(alerts()).hasSize(20).allMatch(task -> "{}".equals(task.spec().payload()));
  }

  @Test
  void a_death_that_is_rolled_back_raises_none() {
    List<ClaimedTask> claimed = claim(World.TENANT, "t", 10);
    List<ClaimEnding> ends =
        claimed.stream().map(task -> ClaimEnding.of(dead(task, "404"))).toList();

    assertThatThrownBy(
            () ->
                world.db.inTransaction(
                    tx -> {
                      world.store.outcomes().finishReported(tx, ends, "node");
                      throw new IllegalStateException("on the last line");
                    }))
        .hasMessage("on the last line");

    assertThat(alerts()).isEmpty();
    assertThat(world.counters.alerts()).isZero();
    world.db.inTransaction(tx -> world.store.outcomes().finishReported(tx, ends, "node"));
    assertThat(alerts()).hasSize(1);
  }

  @Test
  void a_tenant_without_a_rule_uses_the_installations_and_cannot_see_its_target() {
    TenantId quiet =
        world
            .store
            .tenants()
            .put(
                "quiet",
                new Tenants.Settings(true, false, 1, new AlertSetting.Inherited(), null),
                "test")
            .id();
    world
        .store
        .types()
        .put(
            quiet,
            "t",
            new Types.Settings(
                null,
                null,
                null,
                null,
                null,
                null,
                false,
                null,
                Callbacks.NONE,
                StatusRules.DEFAULT,
                null),
            "test",
            null);

    die(quiet, "t", 3, _ -> "404");

    assertThat(alerts(quiet)).isEmpty();
    assertThat(alerts()).extracting(task -> task.spec().target()).containsExactly(OPERATORS);
    assertThat(said(alerts().getFirst()).get("tenant").asString()).isEqualTo("quiet");
  }

  @Test
  void a_tenant_can_turn_alerts_off() {
    alert(new AlertSetting.Off());

    die("t", 20);

    assertThat(alerts()).isEmpty();
  }

  @Test
  void a_strict_tenant_gets_its_own() {
    TenantId strict =
        world
            .store
            .tenants()
            .put(
                "strict",
                new Tenants.Settings(true, false, 1, new AlertSetting.Own(RULE), null),
                "test")
            .id();
    world
        .store
        .types()
        .put(
            strict,
            "t",
            new Types.Settings(
                null,
                null,
                null,
                null,
                null,
                null,
                false,
                null,
                Callbacks.NONE,
                StatusRules.DEFAULT,
                null),
            "test",
            null);

    die(strict, "t", 10, _ -> "404");

    assertThat(alerts(strict)).extracting(task -> task.spec().target()).containsExactly(HOOK);
    assertThat(alerts()).isEmpty();
  }
}
