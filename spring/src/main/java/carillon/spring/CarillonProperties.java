package carillon.spring;

import java.net.URI;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * How the application finds its Carillon.
 *
 * @param url where the server is.
 * @param key the API key. Required; keep it out of the repository.
 * @param tenant the tenant to act on, which only an admin key may choose.
 * @param worker the worker that runs methods with {@link CarillonTask}.
 */
@ConfigurationProperties("carillon")
public record CarillonProperties(
    @DefaultValue("http://127.0.0.1:8080") URI url,
    @Nullable String key,
    @Nullable String tenant,
    @DefaultValue Worker worker) {

  /**
   * How the application works on tasks.
   *
   * @param enabled whether it takes tasks at all. Off: it only creates them.
   * @param name what the server calls the worker. By default the name of the application.
   * @param concurrency how many tasks are worked on at once.
   * @param lease for how long a task is held without a renewal: if the application dies, another
   *     takes its tasks after so long.
   * @param stopTimeout how long tasks may go on when the application stops. Keep it below {@code
   *     spring.lifecycle.timeout-per-shutdown-phase}.
   */
  public record Worker(
      @DefaultValue("true") boolean enabled,
      @Nullable String name,
      @DefaultValue("32") int concurrency,
      @DefaultValue("30s") Duration lease,
      @DefaultValue("20s") Duration stopTimeout) {}

  /** Without the key: this ends up in logs. */
  @Override
  public String toString() {
    return "carillon at " + url;
  }
}
