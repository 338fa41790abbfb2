package carillon.store.catalog;

import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An API key as it is stored: everything but the secret.
 *
 * @param types the task types that it may touch; empty means all
 */
public record ApiKey(
    String id,
    Tenant tenant,
    String name,
    String role,
    List<String> types,
    Instant createdAt,
    @Nullable Instant expiresAt,
    @Nullable Instant revokedAt) {

  public ApiKey {
    types = List.copyOf(types);
  }
}
