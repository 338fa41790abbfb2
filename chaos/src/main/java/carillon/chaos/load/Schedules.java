package carillon.chaos.load;

import carillon.chaos.cluster.Api;
import carillon.chaos.cluster.Cluster;
import carillon.chaos.history.Fields;
import java.io.IOException;
import java.time.Instant;
import java.time.InstantSource;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.SplittableRandom;

/** The schedules of a run. They are created while nothing is broken, and never changed. */
final class Schedules {

  private static final List<String> ZONES =
      List.of("UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/New_York");

  private final Cluster cluster;
  private final List<Tenant> tenants;

  Schedules(Cluster cluster, List<Tenant> tenants) {
    this.cluster = cluster;
    this.tenants = tenants;
  }

  /**
   * Every eighth schedule has a cron expression, the others an interval of 2 to 5 s. Every second
   * cron expression is never due: it names the current hour of UTC, but in a zone where the hour
   * differs.
   */
  void put(int count, SplittableRandom random) throws IOException, InterruptedException {
    Instant start = InstantSource.system().instant().truncatedTo(ChronoUnit.SECONDS).plusSeconds(2);
    for (int i = 0; i < count; i++) {
      Tenant tenant = tenants.get(i % tenants.size());
      String name = "schedule-" + i;
      int seconds = random.nextInt(2, 6);
      Fields fields = Fields.of("tenant", tenant.name()).and("name", name);
      String rule;
      if (i % 8 == 0) {
        String zone = ZONES.get(random.nextInt(i % 16 == 8 ? 1 : 0, ZONES.size()));
        String cron = cron(seconds, zone, start, i % 16 == 8);
        rule = "\"cron\": \"%s\", \"timezone\": \"%s\"".formatted(cron, zone);
        fields = fields.and("cron", cron).and("timezone", zone);
      } else {
        rule = "\"every\": \"%ds\", \"startAt\": \"%s\"".formatted(seconds, start);
        fields = fields.and("every", seconds).and("startAt", start);
      }
      String overlap = i % 5 == 0 ? "skip" : "allow";
      put(tenant, name, rule, overlap, fields.and("overlap", overlap));
    }
  }

  /** Names the current and the next hour, so that the times depend on the zone. */
  static String cron(int seconds, String zone, Instant now, boolean isNever) {
    int hour = now.atZone(isNever ? ZoneOffset.UTC : ZoneId.of(zone)).getHour();
    String hours = isNever ? Integer.toString(hour) : hour + "," + (hour + 1) % 24;
    return "*/%d * %s * * *".formatted(seconds, hours);
  }

  private void put(Tenant tenant, String name, String rule, String overlap, Fields fields)
      throws IOException, InterruptedException {
    String payload = Payload.ofSchedule(tenant, name);
    String body =
        """
        {%s, "type": "%s", "overlap": "%s", "catchUp": "all", "payload": %s}
        """
            .formatted(rule, Tenants.WIDE, overlap, payload);
    long op =
        cluster
            .recorder()
            .invoke(
                "schedule-put",
                fields
                    .and("type", Tenants.WIDE)
                    .and("target", "http")
                    .and("payloadHash", Payload.hash(payload))
                    .and("maxAttempts", Load.MAX_ATTEMPTS));
    Api.Reply.Answered answered =
        cluster.callSuccessfully(Api.Call.put("/v1/schedules/" + name, tenant.key(), body));
    cluster.recorder().ok(op, "schedule-put", Fields.of("status", answered.status()));
  }
}
