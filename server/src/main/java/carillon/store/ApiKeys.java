package carillon.store;

import carillon.model.TenantId;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Keys to the API. Only a hash of each is kept. */
public final class ApiKeys {

  public ApiKey create(Tx tx, TenantId tenant, String id, String name, String role, List<String> types, byte[] hash, @Nullable Instant expiresAt, String who) { throw new UnsupportedOperationException(); }

  /** The key with this id and hash, neither revoked nor expired; from memory when it was read in the last 2 s. */
  public Optional<ApiKey> findLive(String id, byte[] hash) { throw new UnsupportedOperationException(); }

  public Page<ApiKey, String> list(TenantId tenant, int limit, @Nullable String afterId) { throw new UnsupportedOperationException(); }

  /** False if this tenant has no such key. */
  public boolean revoke(TenantId tenant, String id, String who) { throw new UnsupportedOperationException(); }
}
