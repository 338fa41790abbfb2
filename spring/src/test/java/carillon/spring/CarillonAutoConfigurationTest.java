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

class CarillonAutoConfigurationTest {

  /** Nothing listens on port 1: the worker keeps retrying, and no test waits for it. */
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
  void the_key_is_never_printed() {
    application
        .withPropertyValues("carillon.key=very-secret")
        .run(
            context ->
                assertThat(context.getBean(CarillonProperties.class).toString())
                    .doesNotContain("very-secret"));
  }

  @Test
  void the_application_does_not_start_without_a_key() {
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
  void the_client_uses_the_mapper_of_the_application() {
    JsonMapper mapper = JsonMapper.builder().build();

    application
        .withBean(JsonMapper.class, () -> mapper)
        .run(context -> assertThat(context.getBean(Carillon.class).mapper()).isSameAs(mapper));
  }

  @Test
  void no_worker_runs_without_task_methods() {
    application.run(
        context -> assertThat(context.getBean(CarillonWorker.class).isRunning()).isFalse());
  }

  @Test
  void the_worker_runs_while_the_application_runs() {
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
  void the_worker_can_be_disabled() {
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
  void a_customizer_is_called_before_the_start() {
    List<WorkerBuilder> seen = new ArrayList<>();

    application
        .withBean(Greeter.class)
        .withBean(WorkerCustomizer.class, () -> seen::add)
        .run(context -> assertThat(seen).hasSize(1));
  }

  @Test
  void two_methods_of_one_type_are_rejected() {
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
  void a_method_with_two_payloads_is_rejected() {
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
  void health_is_down_while_the_server_is_unreachable() {
    application.run(
        context -> {
          var health = Objects.requireNonNull(context.getBean(HealthIndicator.class).health());
          assertThat(health.getStatus()).isEqualTo(Status.DOWN);
        });
  }

  @Test
  void an_application_without_health_and_metrics_starts() {
    application
        .withClassLoader(
            new FilteredClassLoader("org.springframework.boot.health", "io.micrometer"))
        .withBean(Greeter.class)
        .run(context -> assertThat(context).hasNotFailed().hasSingleBean(CarillonWorker.class));
  }

  @Test
  void failed_calls_are_counted() {
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
