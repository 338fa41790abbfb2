package carillon.spring;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.client.Carillon;
import carillon.client.TaskContext;
import carillon.client.WorkerBuilder;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.SmartLifecycle;
import tools.jackson.databind.json.JsonMapper;

/** What an application gets from the starter, given its class path, beans and properties. */
class CarillonAutoConfigurationTest {

  /** Nobody listens on port 1; a worker keeps trying, and nothing here waits for it. */
  private final ApplicationContextRunner application =
      new ApplicationContextRunner()
          .withConfiguration(AutoConfigurations.of(CarillonAutoConfiguration.class))
          .withPropertyValues(
              "carillon.url=http://127.0.0.1:1",
              "carillon.key=k",
              "carillon.worker.stop-timeout=0s");

  @Test
  void the_properties_have_defaults() {
    application.run(
        context ->
            assertThat(context.getBean(CarillonProperties.class).worker())
                .isEqualTo(
                    new CarillonProperties.Worker(
                        true, null, 32, Duration.ofSeconds(30), Duration.ZERO)));
  }

  @Test
  void the_key_is_not_in_what_is_printed() {
    application
        .withPropertyValues("carillon.key=very-secret")
        .run(
            context ->
                assertThat(context.getBean(CarillonProperties.class).toString())
                    .doesNotContain("very-secret"));
  }

  @Test
  void a_missing_key_is_said_at_the_start() {
    application
        .withPropertyValues("carillon.key=")
        .run(
            context ->
                assertThat(context)
                    .getFailure()
                    .rootCause()
                    .hasMessageContaining("carillon.key is not set"));
  }

  @Test
  void the_clients_mapper_is_the_applications() {
    JsonMapper mapper = JsonMapper.builder().build();

    application
        .withBean(JsonMapper.class, () -> mapper)
        .run(context -> assertThat(context.getBean(Carillon.class).mapper()).isSameAs(mapper));
  }

  @Test
  void without_task_methods_no_worker_runs() {
    application.run(
        context -> assertThat(context.getBean(CarillonWorker.class).isRunning()).isFalse());
  }

  @Test
  void a_worker_runs_while_the_application_does() {
    application
        .withBean(Greeter.class)
        .run(
            context -> {
              CarillonWorker worker = context.getBean(CarillonWorker.class);
              assertThat(worker.isRunning()).isTrue();
              assertThat(worker.getPhase()).isEqualTo(SmartLifecycle.DEFAULT_PHASE);

              context.close();

              assertThat(worker.isRunning()).isFalse();
            });
  }

  @Test
  void a_worker_can_be_switched_off() {
    application
        .withBean(Greeter.class)
        .withPropertyValues("carillon.worker.enabled=false")
        .run(
            context ->
                assertThat(context)
                    .hasSingleBean(Carillon.class)
                    .doesNotHaveBean(CarillonWorker.class));
  }

  @Test
  void a_customizer_has_the_last_word() {
    List<WorkerBuilder> seen = new ArrayList<>();

    application
        .withBean(Greeter.class)
        .withBean(WorkerCustomizer.class, () -> seen::add)
        .run(context -> assertThat(seen).hasSize(1));
  }

  @Test
  void two_methods_of_one_type_are_refused_by_name() {
    application
        .withBean(Greeter.class)
        .withBean(SecondGreeter.class)
        .run(
            context ->
                assertThat(context)
                    .getFailure()
                    .rootCause()
                    .hasMessageContaining("type greet")
                    .hasMessageContaining("Greeter.greet")
                    .hasMessageContaining("SecondGreeter.greetToo"));
  }

  @Test
  void a_method_that_wants_two_payloads_is_refused_by_name() {
    application
        .withBean(Greedy.class)
        .run(
            context ->
                assertThat(context)
                    .getFailure()
                    .rootCause()
                    .hasMessageContaining("Greedy.take")
                    .hasMessageContaining("more than one payload"));
  }

  @Test
  void health_is_down_while_nobody_answers() {
    application.run(
        context -> {
          var health = Objects.requireNonNull(context.getBean(HealthIndicator.class).health());
          assertThat(health.getStatus()).isEqualTo(Status.DOWN);
        });
  }

  @Test
  void an_application_without_health_and_metrics_starts_too() {
    application
        .withClassLoader(
            new FilteredClassLoader("org.springframework.boot.health", "io.micrometer"))
        .withBean(Greeter.class)
        .run(context -> assertThat(context).hasNotFailed().hasSingleBean(CarillonWorker.class));
  }

  @Test
  void calls_that_fail_are_counted() {
    var registry = new SimpleMeterRegistry();

    application
        .withBean(SimpleMeterRegistry.class, () -> registry)
        .run(
            context -> {
              context.getBean(WorkerMetrics.class).callFailed(new IllegalStateException("lost"));

              assertThat(registry.get("carillon.worker.calls.failed").counter().count())
                  .isEqualTo(1);
            });
  }

  static class Greeter {
    @CarillonTask("greet")
    String greet(String name, TaskContext context) {
      return "Hello " + name + ", attempt " + context.attempt();
    }
  }

  static class SecondGreeter {
    @CarillonTask("greet")
    void greetToo() {}
  }

  static class Greedy {
    @CarillonTask("greedy")
    void take(String one, int two) {}
  }
}
