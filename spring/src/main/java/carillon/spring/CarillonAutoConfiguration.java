package carillon.spring;

import carillon.client.Carillon;
import carillon.client.WorkerListener;
import io.micrometer.core.instrument.MeterRegistry;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import tools.jackson.databind.json.JsonMapper;

/** Configures the client and the worker, and health and metrics if the application has them. */
@AutoConfiguration(
    afterName = {
      "org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration",
      "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration"
    })
@EnableConfigurationProperties(CarillonProperties.class)
public final class CarillonAutoConfiguration {

  /** Uses the application's mapper for payloads, if it has one. */
  @Bean
  @ConditionalOnMissingBean
  Carillon carillon(CarillonProperties properties, ObjectProvider<JsonMapper> mapper) {
    String key = properties.key();
    if (key == null || key.isBlank()) {
      throw new IllegalStateException(
          "carillon.key is not set: set it to an API key, for example with the variable"
              + " CARILLON_KEY");
    }
    Carillon carillon = Carillon.connect(properties.url(), key);
    String tenant = properties.tenant();
    if (tenant != null) {
      carillon = carillon.withTenant(tenant);
    }
    JsonMapper own = mapper.getIfUnique();
    return own == null ? carillon : carillon.withMapper(own);
  }

  /** Runs the methods with {@link CarillonTask}. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnProperty(
      name = "carillon.worker.enabled",
      havingValue = "true",
      matchIfMissing = true)
  static class WorkerConfiguration {

    @Bean
    @ConditionalOnMissingBean
    CarillonWorker carillonWorker(
        Carillon carillon,
        CarillonProperties properties,
        Environment environment,
        ConfigurableListableBeanFactory beans,
        ObjectProvider<WorkerListener> listeners,
        ObjectProvider<WorkerCustomizer> customizers) {
      String given = properties.worker().name();
      String name =
          given != null ? given : environment.getProperty("spring.application.name", "spring");
      return new CarillonWorker(
          carillon,
          name,
          properties.worker(),
          new TaskMethods(beans),
          listeners.orderedStream().toList(),
          customizers.orderedStream().toList());
    }

    @Bean
    WorkerLog carillonWorkerLog() {
      return new WorkerLog();
    }
  }

  /** Health, if the application has Spring Boot health. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(HealthIndicator.class)
  @ConditionalOnProperty(
      name = "management.health.carillon.enabled",
      havingValue = "true",
      matchIfMissing = true)
  static class HealthConfiguration {

    @Bean
    @ConditionalOnMissingBean(name = "carillonHealthIndicator")
    CarillonHealth carillonHealthIndicator(Carillon carillon) {
      return new CarillonHealth(carillon);
    }
  }

  /** Metrics, if the application has a registry. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(MeterRegistry.class)
  @ConditionalOnBean(MeterRegistry.class)
  static class MetricsConfiguration {

    @Bean
    WorkerMetrics carillonWorkerMetrics(
        MeterRegistry registry, ObjectProvider<CarillonWorker> worker) {
      return new WorkerMetrics(
          registry,
          () -> {
            CarillonWorker one = worker.getIfAvailable();
            return one == null ? 0 : one.running();
          });
    }
  }
}
