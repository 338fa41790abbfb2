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
 * Who may read {@code /metrics}: everybody, or callers with the operator's key for it. An API key
 * that may look at the cluster is as good, because it shows no less; the dashboard reads them so.
 */
public final class MetricsAccess {

  private static final String BEARER = "Bearer ";

  private final byte @Nullable [] keyHash;
  private final boolean isOpen;

  private MetricsAccess(byte @Nullable [] keyHash, boolean isOpen) {
    this.keyHash = keyHash;
    this.isOpen = isOpen;
  }

  /** At the API's own port: open only while the metrics have neither a key nor a port. */
  public static MetricsAccess besideTheApi(ApiConfig.Metrics metrics) {
    return new MetricsAccess(hash(metrics.key()), metrics.key() == null && metrics.port() == null);
  }

  /** At a port of their own, which the operator keeps to itself, or a key does. */
  public static MetricsAccess atTheirPort(ApiConfig.Metrics metrics) {
    return new MetricsAccess(hash(metrics.key()), metrics.key() == null);
  }

  private static byte @Nullable [] hash(@Nullable String key) {
    return key == null ? null : KeyText.sha256(key);
  }

  /** Throws what the caller is answered if it may not. */
  void check(Call call) {
    if (isOpen || hasMetricsKey(call.headers("Authorization"))) {
      return;
    }
    Caller caller = call.callerNow(); // 401 if there is none
    if (!caller.role().may(Permission.CLUSTER)) {
      throw new ApiException(
          ErrorCode.MISSING_SCOPE,
          "metrics need the key of --metrics-key or an admin key; this is a key of the role "
              + caller.role().label());
    }
  }

  private boolean hasMetricsKey(List<String> authorization) {
    if (keyHash == null || authorization.size() != 1) {
      return false;
    }
    String given = authorization.getFirst();
    return given.regionMatches(true, 0, BEARER, 0, BEARER.length())
        // By their hashes: equal cost for whatever is sent.
        && MessageDigest.isEqual(KeyText.sha256(given.substring(BEARER.length()).strip()), keyHash);
  }
}
