package carillon.spring;

import java.net.URI;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The connection to Carillon.
 *
 * @param url URL of the server.
 * @param key API key. Required; keep it out of the repository.
 * @param tenant tenant to act on; requires an admin key.
 * @param worker the worker that runs methods with {@link CarillonTask}.
 */
@ConfigurationProperties("carillon")
public record CarillonProperties(
    @DefaultValue("http://127.0.0.1:8080") URI url,
    @Nullable String key,
    @Nullable String tenant,
    @DefaultValue Worker worker) {

  /**
   * The worker of the application.
   *
   * @param enabled whether to run the worker. If false, the application only creates tasks.
   * @param name name of the worker. Default: the name of the application.
   * @param concurrency maximum number of concurrent tasks.
   * @param lease lease of a task: if the application dies, others get its tasks after this time.
   * @param stopTimeout time for running tasks to finish on shutdown. Keep it below {@code
   *     spring.lifecycle.timeout-per-shutdown-phase}.
   */
  public record Worker(
      @DefaultValue("true") boolean enabled,
      @Nullable String name,
      @DefaultValue("32") int concurrency,
      @DefaultValue("30s") Duration lease,
      @DefaultValue("20s") Duration stopTimeout) {}

  /** Without the key, because this is logged. */
  @Override
  public String toString() {
    return "carillon at " + url;
  }
}
