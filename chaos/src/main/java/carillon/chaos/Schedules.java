package carillon.chaos;

import carillon.chaos.history.Fields;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** The schedules of a run: made while all is well, paused when the load ends. */
final class Schedules {

  private static final List<String> ZONES =
      List.of("UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/New_York");
  private static final int PAUSE_TRIES = 20;

  private final Cluster cluster;
  private final List<Tenant> tenants;
  private final List<Made> made = new ArrayList<>();

  private record Made(Tenant tenant, String name) {}

  Schedules(Cluster cluster, List<Tenant> tenants) {
    this.cluster = cluster;
    this.tenants = tenants;
  }

  /** Every eighth has a cron expression, the others an interval of 2 to 5 s. */
  void put(int count, SplittableRandom random) throws IOException, InterruptedException {
    for (int i = 0; i < count; i++) {
      Tenant tenant = tenants.get(i % tenants.size());
      String name = "schedule-" + i;
      int seconds = random.nextInt(2, 6);
      Fields fields = Fields.of("tenant", tenant.name()).and("name", name);
      String rule;
      if (i % 8 == 0) {
        String cron = "*/" + seconds + " * * * * *";
        String zone = ZONES.get(random.nextInt(ZONES.size()));
        rule = "\"cron\": \"%s\", \"timezone\": \"%s\"".formatted(cron, zone);
        fields = fields.and("cron", cron).and("timezone", zone);
      } else {
        rule = "\"every\": \"%ds\"".formatted(seconds);
        fields = fields.and("every", seconds);
      }
      String overlap = i % 5 == 0 ? "skip" : "allow";
      put(tenant, name, rule, overlap, fields.and("overlap", overlap));
    }
  }

  private void put(Tenant tenant, String name, String rule, String overlap, Fields fields)
      throws IOException, InterruptedException {
    String body =
        """
        {%s, "type": "%s", "overlap": "%s", "catchUp": "all", "payload": %s}
        """
            .formatted(rule, Tenants.WIDE, overlap, Payload.ofSchedule(tenant, name));
    long op =
        cluster
            .recorder()
            .invoke("schedule-put", fields.and("type", Tenants.WIDE).and("target", "http"));
    Api.Reply.Answered answered =
        cluster.must(Api.Call.put("/v1/schedules/" + name, tenant.key(), body));
    cluster.recorder().ok(op, "schedule-put", Fields.of("status", answered.status()));
    made.add(new Made(tenant, name));
  }

  /** Nothing new is planned from now on, so that all that there is can end. */
  void pause() throws InterruptedException {
    for (Made schedule : made) {
      Fields fields = Fields.of("tenant", schedule.tenant().name()).and("name", schedule.name());
      for (int i = 0; i < PAUSE_TRIES && !isPaused(schedule, fields, i); i++) {
        Thread.sleep(250);
      }
    }
  }

  private boolean isPaused(Made schedule, Fields fields, int tries) throws InterruptedException {
    List<Node> nodes = cluster.nodes();
    Node node = nodes.get(tries % nodes.size());
    if (node.url() == null) {
      return false;
    }
    long op = cluster.recorder().invoke("schedule-pause", fields);
    Api.Reply reply =
        cluster
            .api()
            .send(
                node.url(),
                Api.Call.post(
                    "/v1/schedules/" + schedule.name() + "/pause", schedule.tenant().key(), null));
    if (reply instanceof Api.Reply.Answered answered && answered.status() / 100 == 2) {
      cluster.recorder().ok(op, "schedule-pause", Fields.of("status", answered.status()));
      return true;
    }
    cluster.recorder().info(op, "schedule-pause", Fields.of("error", String.valueOf(reply)));
    return false;
  }
}
