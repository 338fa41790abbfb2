package carillon.chaos.load;

import carillon.chaos.cluster.Api;
import carillon.chaos.cluster.Cluster;
import carillon.chaos.cluster.RebindingHost;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.SplittableRandom;

/** Creates the tenants of a run, each with a key, a marker and the types that the load uses. */
public final class Tenants {

  public static final String WEB = "web";

  /** HTTP tasks spread over several lanes. */
  static final String WIDE = "wide";

  static final String PULLED = "pulled";
  static final String DISCARDED = "discarded";

  /** Its target is a name that switches between an allowed and the forbidden address. */
  static final String REBINDING = "rebinding";

  /** Its target is a name with only the forbidden address. */
  public static final String INTERNAL = "internal";

  private static final int SECRET_BYTES = 32;

  private Tenants() {}

  static List<Tenant> create(
      Cluster cluster,
      Receiver receiver,
      RebindingHost rebindingHost,
      int count,
      SplittableRandom random)
      throws IOException, InterruptedException {
    List<Tenant> tenants = new ArrayList<>();
    for (int i = 1; i <= count; i++) {
      String name = "tenant-" + i;
      cluster.callSuccessfully(Api.Call.put("/v1/tenants/" + name, cluster.adminKey(), "{}"));
      String key =
          cluster
              .callSuccessfully(
                  Api.Call.post(
                          "/v1/keys",
                          cluster.adminKey(),
                          "{\"name\": \"chaos\", \"role\": \"owner\"}")
                      .onTenant(name))
              .body()
              .path("key")
              .asString();
      byte[] secret = new byte[SECRET_BYTES];
      random.nextBytes(secret);
      String marker = "marker-" + name + "-" + Long.toHexString(random.nextLong());
      Tenant tenant = new Tenant(name, marker, key, Base64.getEncoder().encodeToString(secret));
      receiver.know(tenant);
      types(cluster, receiver, tenant);
      named(cluster, tenant, REBINDING, rebindingHost.url());
      named(cluster, tenant, INTERNAL, rebindingHost.internalUrl());
      tenants.add(tenant);
    }
    return tenants;
  }

  private static void named(Cluster cluster, Tenant tenant, String type, String url)
      throws IOException, InterruptedException {
    put(
        cluster,
        tenant,
        type,
        "{\"target\": {\"http\": {\"url\": \"%s\"}}, \"timeout\": \"%dms\", \"retry\": %s}"
            .formatted(url, Load.ATTEMPT_TIMEOUT.toMillis(), Load.retry(Load.NAMED_ATTEMPTS)));
  }

  private static void types(Cluster cluster, Receiver receiver, Tenant tenant)
      throws IOException, InterruptedException {
    for (String type : List.of(WEB, WIDE)) {
      put(
          cluster,
          tenant,
          type,
          """
          {"target": {"http": {"url": "%s"}}, "timeout": "%dms", "signingSecret": "whsec_%s",
           "slices": %d, "retry": %s}
          """
              .formatted(
                  receiver.urlFor(tenant.name()),
                  Load.ATTEMPT_TIMEOUT.toMillis(),
                  tenant.secret(),
                  type.equals(WIDE) ? 4 : 1,
                  Load.retry(Load.MAX_ATTEMPTS)));
    }
    put(
        cluster,
        tenant,
        PULLED,
        "{\"target\": {\"pull\": {}}, \"leaseTimeout\": \"2s\", \"retry\": %s}"
            .formatted(Load.retry(Load.MAX_ATTEMPTS)));
    put(
        cluster,
        tenant,
        DISCARDED,
        "{\"target\": {\"discard\": {}}, \"retry\": %s}".formatted(Load.retry(Load.MAX_ATTEMPTS)));
  }

  private static void put(Cluster cluster, Tenant tenant, String type, String settings)
      throws IOException, InterruptedException {
    cluster.callSuccessfully(Api.Call.put("/v1/types/" + type, tenant.key(), settings));
  }
}
