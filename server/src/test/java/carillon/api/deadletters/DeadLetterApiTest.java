package carillon.api.deadletters;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.api.TestApi;
import carillon.api.error.ErrorCode;
import carillon.model.TenantId;
import carillon.store.deadletters.Redrive;
import carillon.store.deadletters.Redrives;
import carillon.testkit.DeadTasks;
import carillon.testkit.World;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** Dead letters over HTTP. The tests run the steps of redrives. */
class DeadLetterApiTest {

  private TestApi api;

  @BeforeEach
  void start() {
    api = TestApi.start();
  }

  @AfterEach
  void stop() {
    api.close();
  }

  private JsonNode get(String path) {
    return api.get(path).send().expect(200).json();
  }

  private TestApi.Reply redrive(String body) {
    return api.post("/v1/dead-letters/redrive").json(body).send();
  }

  /** Runs a step of the redrive, 200 ms after the previous step. */
  private void step(String id) {
    api.world.store.redrives().step(new Redrives.Open(TenantId.DEFAULT, UUID.fromString(id)));
    api.world.sql("UPDATE carillon.redrive SET stepped_at = stepped_at - interval '200 ms'");
  }

  private List<String> audit(String subject) {
    List<String> entries = new ArrayList<>();
    for (JsonNode entry : get("/v1/audit?subject=" + subject).get("items")) {
      entries.add(entry.get("action").asString() + " " + entry.get("by").asString());
    }
    return entries;
  }

  @Test
  void ten_thousand_dead_letters_are_grouped_edited_redriven_stopped_and_undone() {
    DeadTasks.fill(api.world, 10_000, 20);

    String group = findGroup();
    String edited = editAndRedriveOne(group);
    String redrive = startRedrive(group);
    runSteps(redrive);
    api.world.node("node");
    assertThat(api.world.claim("node", 30)).hasSize(30); // one may be the edited task
    stop(redrive);
    undo(redrive);

    assertAudited(redrive, edited, group);
    assertUndoneTaskHasAllTransitions(redrive);
  }

  private String findGroup() {
    JsonNode groups = get("/v1/dead-letters/groups").get("items");
    assertThat(groups).hasSize(20);
    assertThat(groups).allMatch(group -> group.get("letters").asInt() == 500);
    JsonNode of506 = get("/v1/dead-letters/groups?status=506").get("items").get(0);
    assertThat(of506.get("type").asString()).isEqualTo("t2");
    assertThat(of506.get("failure").asString()).isEqualTo("status");
    assertThat(of506.get("error").asString()).contains("called G");
    return of506.get("group").asString();
  }

  private String editAndRedriveOne(String group) {
    JsonNode letter = get("/v1/dead-letters?group=" + group + "&limit=1").get("items").get(0);
    assertThat(letter.get("group").asString()).isEqualTo(group);
    String edited = letter.get("id").asString();
    api.patch("/v1/tasks/" + edited)
        .json("{\"payload\": {\"fixed\": true}, \"key\": \"fixed\"}")
        .send()
        .expect(200);
    assertThat(get("/v1/dead-letters?key=fixed&view=full").get("items").get(0).get("payload"))
        .hasToString("{\"fixed\":true}");
    api.post("/v1/tasks/" + edited + "/redrive").send().expect(200);
    return edited;
  }

  private String startRedrive(String group) {
    String filter = "\"group\": \"" + group + "\"";
    JsonNode dry = redrive("{" + filter + ", \"dryRun\": true}").expect(200).json();
    assertThat(dry).hasToString("{\"matched\":499,\"redriven\":0,\"dryRun\":true}");
    assertThat(get("/v1/redrives").get("items")).isEmpty();

    TestApi.Reply started = redrive("{" + filter + ", \"rate\": 200}").expect(202);
    String id = started.text("id");
    assertThat(started.header("location")).isEqualTo("/v1/redrives/" + id);
    assertThat(started.text("status")).isEqualTo("RUNNING");
    assertThat(started.json().get("matched").asInt()).isEqualTo(499);
    return id;
  }

  private void runSteps(String id) {
    for (int steps = 1; steps <= 6; steps++) {
      step(id);
      JsonNode redrive = get("/v1/redrives/" + id);
      assertThat(redrive.get("redriven").asInt()).isEqualTo(40 * steps);
      assertThat(redrive.get("waiting").asInt()).isEqualTo(40 * steps);
    }
  }

  private void stop(String id) {
    assertThat(api.post("/v1/redrives/" + id + "/stop").send().expect(200).text("status"))
        .isEqualTo("STOPPED");
    step(id);
    assertThat(get("/v1/redrives/" + id).get("redriven").asInt()).isEqualTo(240);
    api.post("/v1/redrives/" + id + "/stop").send().expect(ErrorCode.WRONG_STATE);
  }

  private void undo(String id) {
    JsonNode undone = api.post("/v1/redrives/" + id + "/undo").send().expect(200).json();
    assertThat(undone.get("status").asString()).isEqualTo("UNDONE");
    assertThat(undone.get("undone").asInt()).isBetween(210, 211);
    assertThat(undone.get("waiting").asInt()).isZero();
    assertThat(get("/v1/dead-letters/groups?status=506").get("items").get(0).get("letters").asInt())
        .isEqualTo(499 - 240 + undone.get("undone").asInt());
    assertThat(get("/v1/dead-letters/groups?status=506").get("items").get(0).get("deaths").asInt())
        .isEqualTo(500);
    api.post("/v1/redrives/" + id + "/undo").send().expect(200); // a repeat changes nothing
  }

  private void assertAudited(String id, String edited, String group) {
    assertThat(audit(id))
        .containsExactly(
            "redrive.undone admin",
            "redrive.undo admin",
            "redrive.stop admin",
            "redrive.start admin");
    assertThat(audit(edited)).containsExactly("task.redrive admin", "task.edit admin");
    assertThat(get("/v1/redrives/" + id).get("groupError").asString()).contains("called G");
    assertThat(get("/v1/redrives").get("items").get(0).get("groupError").asString())
        .contains("called G");
    assertThat(get("/v1/audit?action=redrive.start").get("items").get(0).get("detail").toString())
        .contains("\"matched\":499", "\"rate\":200", group);
  }

  private void assertUndoneTaskHasAllTransitions(String id) {
    String undoneTask =
        api.world.value(
            "SELECT task FROM carillon.transition WHERE to_state = 'DEAD' ORDER BY task LIMIT 1");
    assertThat(get("/v1/tasks/" + undoneTask).get("transitions"))
        .extracting(
            each ->
                each.get("from").asString("")
                    + ">"
                    + each.get("to").asString()
                    + " by "
                    + each.get("by").asString("")
                    + ": "
                    + each.get("reason").asString())
        .containsExactly(
            "PENDING>DEAD by admin: redrive " + id + " undone",
            "DEAD>PENDING by admin: redrive " + id,
            ">PENDING by : created");
  }

  @Test
  void a_redrive_without_a_rate_runs_in_the_request_once_per_idempotency_key() {
    DeadTasks.fill(api.world, 300, 3);
    String body = "{\"failure\": \"Connection\"}";

    TestApi.Reply first =
        api.post("/v1/dead-letters/redrive")
            .header("Idempotency-Key", "once")
            .json(body)
            .send()
            .expect(200);
    TestApi.Reply again =
        api.post("/v1/dead-letters/redrive")
            .header("Idempotency-Key", "once")
            .json(body)
            .send()
            .expect(200);

    assertThat(first.json().get("redriven").asInt()).isEqualTo(100);
    assertThat(first.text("status")).isEqualTo("DONE");
    assertThat(again.text("id")).isEqualTo(first.text("id"));
    assertThat(get("/v1/redrives").get("items")).hasSize(1);
    assertThat(audit(first.text("id")))
        .containsExactly("redrive.done admin", "redrive.start admin");
  }

  @Test
  void a_purge_reports_the_matched_and_purged_dead_letters() {
    DeadTasks.fill(api.world, 300, 3);
    String filter = "\"status\": 502";

    assertThat(
            api.post("/v1/dead-letters/purge")
                .json("{" + filter + ", \"dryRun\": true}")
                .send()
                .expect(200)
                .body())
        .isEqualTo("{\"matched\":100,\"purged\":0,\"dryRun\":true}");
    assertThat(
            api.post("/v1/dead-letters/purge").json("{" + filter + "}").send().expect(200).body())
        .isEqualTo("{\"matched\":100,\"purged\":100}");
    assertThat(
            api.post("/v1/dead-letters/purge")
                .header("Idempotency-Key", "k")
                .json("{\"all\": true}")
                .send()
                .expect(200)
                .body())
        .isEqualTo("{\"matched\":200,\"purged\":200}");
    assertThat(api.world.value("SELECT count(*) FROM carillon.task WHERE state = 'DEAD'"))
        .isEqualTo("0");
  }

  @Test
  void an_empty_filter_is_an_error_and_purges_nothing() {
    DeadTasks.fill(api.world, 8, 1);

    TestApi.Reply rejected =
        api.post("/v1/dead-letters/purge")
            .json(
                "{\"type\": \"t0\", \"ids\": [], \"error\": \"\", \"key\": \"\", \"metadata\": {}}")
            .send()
            .expect(ErrorCode.INVALID_VALUE);

    assertThat(rejected.json().get("errors"))
        .extracting(error -> error.get("pointer").asString())
        .containsExactlyInAnyOrder("/ids", "/error", "/key", "/metadata");
    assertThat(api.world.value("SELECT count(*) FROM carillon.dead_letter")).isEqualTo("8");
  }

  @Test
  void a_redrive_shows_the_number_of_ids_in_its_filter() {
    DeadTasks.fill(api.world, 8, 1);
    String ids =
        api.world.value(
            "SELECT json_agg(task) FROM (SELECT * FROM carillon.dead_letter LIMIT 5) d");

    String id =
        redrive("{\"ids\": " + ids + ", \"failure\": \"STATUS\", \"rate\": 5}")
            .expect(202)
            .text("id");

    String shown = "{\"ids\":5,\"failure\":\"status\"}";
    assertThat(get("/v1/redrives/" + id).get("filter")).hasToString(shown);
    assertThat(get("/v1/redrives").get("items").get(0).get("filter")).hasToString(shown);
    for (int steps = 0; steps < 6; steps++) {
      step(id);
    }
    assertThat(get("/v1/redrives/" + id).get("redriven").asInt()).isEqualTo(5);
    assertThat(get("/v1/redrives/" + id).get("status").asString()).isEqualTo("DONE");
    JsonNode undone = api.post("/v1/redrives/" + id + "/undo").send().expect(200).json();
    assertThat(undone.get("filter")).hasToString(shown);
  }

  @Test
  void a_tenant_at_the_limit_of_redrives_can_only_start_small_ones() {
    DeadTasks.fill(api.world, 100, 1);
    String slowly = "{\"type\": \"t0\", \"rate\": 1}";
    String first = redrive(slowly).expect(202).text("id");
    for (int started = 1; started < Redrives.MAX_OPEN; started++) {
      redrive(slowly).expect(202);
    }

    TestApi.Reply rejected = redrive(slowly).expect(ErrorCode.TOO_MANY_REDRIVES);

    assertThat(rejected.status()).isEqualTo(409);
    assertThat(rejected.text("detail")).contains("20 redrives are running");
    assertThat(get("/v1/redrives?limit=100").get("items")).hasSize(Redrives.MAX_OPEN);
    redrive("{\"type\": \"t0\", \"rate\": 1, \"dryRun\": true}").expect(200);
    redrive("{\"key\": \"key 1\"}").expect(200);
    api.post("/v1/redrives/" + first + "/stop").send().expect(200);
    redrive(slowly).expect(202);
  }

  @Test
  void a_redrive_is_visible_to_its_tenant_and_to_keys_for_all_types() {
    DeadTasks.fill(api.world, 10, 1);
    String id =
        redrive("{\"all\": true, \"rate\": {\"limit\": 60, \"per\": \"1m\"}}")
            .expect(202)
            .text("id");
    String stranger = api.key("strangers", "owner");
    String producer = api.key("default", "producer", "t0");

    for (String call :
        List.of("GET /v1/redrives/ID", "POST /v1/redrives/ID/stop", "POST /v1/redrives/ID/undo")) {
      String[] parts = call.replace("ID", id).split(" ", -1);
      api.request(parts[0], parts[1]).as(stranger).send().expect(ErrorCode.NOT_FOUND);
    }
    assertThat(api.request("GET", "/v1/audit").as(stranger).send().expect(200).json().get("items"))
        .noneMatch(entry -> entry.get("action").asString().startsWith("redrive"));
    api.request("GET", "/v1/redrives/" + id).as(producer).send().expect(ErrorCode.MISSING_SCOPE);
    assertThat(
            api.world
                .store
                .redrives()
                .find(World.TENANT, UUID.fromString(id))
                .orElseThrow()
                .state())
        .isEqualTo(Redrive.State.RUNNING);
  }
}
