package carillon.api.admin;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.http.ApiConfig;
import carillon.api.http.Call;
import carillon.api.http.Caller;
import carillon.api.http.Permission;
import carillon.model.KeyText;
import java.security.MessageDigest;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Access to {@code /metrics}: public, or with the metrics key. An API key with access to the
 * cluster works too, because the cluster page shows no less; the dashboard uses it.
 */
public final class MetricsAccess {

  private static final String BEARER = "Bearer ";

  private final byte @Nullable [] keyHash;
  private final boolean isOpen;

  private MetricsAccess(byte @Nullable [] keyHash, boolean isOpen) {
    this.keyHash = keyHash;
    this.isOpen = isOpen;
  }

  /** On the port of the API: public only if the metrics have neither a key nor a port. */
  public static MetricsAccess onApiPort(ApiConfig.Metrics metrics) {
    return new MetricsAccess(hash(metrics.key()), metrics.key() == null && metrics.port() == null);
  }

  /** On a separate port, which the network or a key protects. */
  public static MetricsAccess onOwnPort(ApiConfig.Metrics metrics) {
    return new MetricsAccess(hash(metrics.key()), metrics.key() == null);
  }

  private static byte @Nullable [] hash(@Nullable String key) {
    return key == null ? null : KeyText.sha256(key);
  }

  /** Throws unless the caller has access. */
  void require(Call call) {
    if (isOpen || hasMetricsKey(call.headers("Authorization"))) {
      return;
    }
    Caller caller = call.callerNow(); // 401 without one
    if (!caller.role().may(Permission.CLUSTER)) {
      throw new ApiException(
          ErrorCode.MISSING_SCOPE,
          "metrics require the key of --metrics-key or an admin key; this key has the role "
              + caller.role().label());
    }
  }

  private boolean hasMetricsKey(List<String> authorization) {
    if (keyHash == null || authorization.size() != 1) {
      return false;
    }
    String given = authorization.getFirst();
    return given.regionMatches(true, 0, BEARER, 0, BEARER.length())
        // Compared by hash, so that the time does not depend on the key that was sent.
        && MessageDigest.isEqual(KeyText.sha256(given.substring(BEARER.length()).strip()), keyHash);
  }
}
