package carillon.api.schedules;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.api.TestApi;
import carillon.api.error.ErrorCode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** Schedules over HTTP. */
class ScheduleApiTest {

  private static TestApi api;

  @BeforeAll
  static void start() {
    api = TestApi.start();
  }

  @AfterAll
  static void stop() {
    api.close();
  }

  private static TestApi.Reply put(String name, String json) {
    return api.put("/v1/schedules/" + name).json(json.replace('\'', '"')).send();
  }

  private static TestApi.Reply post(String path, String json) {
    return api.post("/v1/schedules/" + path).json(json.replace('\'', '"')).send();
  }

  private static JsonNode get(String path) {
    return api.get("/v1/schedules" + path).send().expect(200).json();
  }

  @Test
  void a_schedule_is_created_shown_changed_and_deleted() {
    TestApi.Reply created =
        put(
                "nightly",
                "{'type':'report','cron':'30 2 * * *','timezone':'Europe/Berlin','payload':{'a':"
                    + " 1.0},'overlap':'cancelPrevious','catchUp':'all','catchUpLimit':5,"
                    + "'catchUpWindow':'2h','jitter':'90s','dst':{'gap':'skip'},'maxRuns':3,"
                    + "'pauseAfterFailures':2,'key':'k','priority':8,'target':{'discard':{}}}")
            .expect(201);

    assertThat(created.header("location")).isEqualTo("/v1/schedules/nightly");
    assertThat(created.header("etag")).isEqualTo("\"1\"");
    JsonNode shown = get("/nightly");
    assertThat(shown).isEqualTo(created.json());
    assertThat(shown.get("description").asString()).isEqualTo("At 02:30 every day");
    assertThat(shown.get("timezone").asString()).isEqualTo("Europe/Berlin");
    assertThat(shown.get("timezoneData").asString()).matches("20\\d\\d[a-z]");
    assertThat(shown.get("dst").toString()).isEqualTo("{\"gap\":\"skip\",\"overlap\":\"first\"}");
    assertThat(shown.get("overlap").asString()).isEqualTo("cancelPrevious");
    assertThat(shown.get("catchUp").asString()).isEqualTo("all");
    assertThat(shown.get("catchUpWindow").asString()).isEqualTo("PT2H");
    assertThat(shown.get("jitter").asString()).isEqualTo("PT1M30S");
    assertThat(shown.get("status").asString()).isEqualTo("ACTIVE");
    assertThat(shown.get("paused").asBoolean()).isFalse();
    assertThat(shown.get("every").isNull()).isTrue();
    assertThat(created.body()).contains("\"payload\":{\"a\": 1.0}");
    assertThat(shown.get("nextRuns")).hasSize(3);
    assertThat(shown.get("nextRuns").get(0).get("local").asString())
        .matches("20\\d\\d-\\d\\d-\\d\\dT02:30:00\\+0[12]:00\\[Europe/Berlin]");
    assertThat(shown.get("lastRun").isNull()).isTrue();
    assertThat(shown.get("counters").toString())
        .isEqualTo(
            "{\"runs\":0,\"completed\":0,\"failed\":0,\"cancelled\":0,\"skipped\":{\"overlap\":0,"
                + "\"paused\":0,\"window\":0,\"dstGap\":0,\"ended\":0}}");

    TestApi.Reply changed = put("nightly", "{'type':'report','every':'90s'}").expect(200);
    assertThat(changed.header("etag")).isEqualTo("\"2\"");
    assertThat(changed.text("description")).isEqualTo("Every 90 seconds");
    assertThat(changed.text("overlap")).isEqualTo("skip");
    assertThat(changed.json().get("cron").isNull()).isTrue();
    assertThat(put("nightly", "{'type':'report','every':'PT1M30S'}").expect(200).header("etag"))
        .as("an equal definition")
        .isEqualTo("\"2\"");

    api.delete("/v1/schedules/nightly").send().expect(204);
    api.get("/v1/schedules/nightly").send().expect(ErrorCode.NOT_FOUND);
    api.delete("/v1/schedules/nightly").send().expect(ErrorCode.NOT_FOUND);
  }

  @Test
  void sending_back_a_response_changes_nothing() {
    String definition =
        "{'type':'t','cron':'0 9 * * MON-FRI','timezone':'America/New_York','startAt':"
            + "'2027-01-01T00:00:00.123456789Z','endAt':'2999-01-01T00:00:00Z','jitter':'1500ms',"
            + "'target':{'http':{'url':'https://example.com/','headers':{'B':'b','A':'a'}}},"
            + "'retry':{'maxAttempts':3},'payload':[1,  2]}";
    JsonNode shown = put("back", definition).expect(201).json();
    List<String> settings =
        List.of(
            "type",
            "cron",
            "timezone",
            "dst",
            "overlap",
            "catchUp",
            "catchUpLimit",
            "catchUpWindow",
            "jitter",
            "startAt",
            "endAt",
            "maxRuns",
            "pauseAfterFailures",
            "paused",
            "key",
            "priority",
            "target",
            "retry");
    List<String> fields = new ArrayList<>(List.of("\"payload\":[1,  2]"));
    settings.forEach(name -> fields.add("\"" + name + "\":" + shown.get(name)));

    JsonNode again =
        api.put("/v1/schedules/back")
            .json("{" + String.join(",", fields) + "}")
            .send()
            .expect(200)
            .json();

    assertThat(again.get("version").asInt()).isEqualTo(1);
    assertThat(shown.get("startAt").asString()).isEqualTo("2027-01-01T00:00:00.123Z");
  }

  @Test
  void a_change_may_require_a_version() {
    String one = "{\"type\":\"t\",\"every\":\"1h\"}";
    String other = "{\"type\":\"t\",\"every\":\"2h\"}";
    api.put("/v1/schedules/versions")
        .header("If-Match", "*")
        .json(one)
        .send()
        .expect(ErrorCode.STALE_VERSION);
    put("versions", one).expect(201);

    api.put("/v1/schedules/versions").header("If-Match", "\"1\"").json(other).send().expect(200);
    api.put("/v1/schedules/versions")
        .header("If-Match", "\"1\"")
        .json(one)
        .send()
        .expect(ErrorCode.STALE_VERSION);
    api.delete("/v1/schedules/versions")
        .header("If-Match", "\"1\"")
        .send()
        .expect(ErrorCode.STALE_VERSION);
    api.delete("/v1/schedules/versions").header("If-Match", "\"2\"").send().expect(204);
  }

  @Test
  void pause_and_resume_may_require_a_version() {
    put("stale-pause", "{'type':'t','every':'1h'}").expect(201);
    String path = "/v1/schedules/stale-pause";

    api.post(path + "/pause").header("If-Match", "\"2\"").send().expect(ErrorCode.STALE_VERSION);
    assertThat(get("/stale-pause").get("paused").asBoolean()).isFalse();
    api.post(path + "/pause").header("If-Match", "\"1\"").send().expect(200);
    api.post(path + "/resume").header("If-Match", "\"1\"").send().expect(ErrorCode.STALE_VERSION);
    assertThat(get("/stale-pause").get("paused").asBoolean()).isTrue();
    api.post(path + "/resume").header("If-Match", "\"2\"").send().expect(200);
    api.post(path + "/pause").header("If-Match", "*").send().expect(200);
    api.post(path + "/resume").header("If-Match", "4").send().expect(ErrorCode.INVALID_HEADER);
    api.post("/v1/schedules/none/pause")
        .header("If-Match", "\"1\"")
        .send()
        .expect(ErrorCode.NOT_FOUND);
  }

  @Test
  void a_schedule_is_paused_with_a_reason_and_resumed() {
    put("pausing", "{'type':'t','every':'1h'}").expect(201);

    JsonNode paused = post("pausing/pause", "{'reason':'the target moves'}").expect(200).json();
    JsonNode kept = put("pausing", "{'type':'t','every':'1h','maxRuns':5}").expect(200).json();
    JsonNode resumed = api.post("/v1/schedules/pausing/resume").send().expect(200).json();

    assertThat(paused.get("status").asString()).isEqualTo("PAUSED");
    assertThat(paused.get("pausedReason").asString()).isEqualTo("the target moves");
    assertThat(paused.get("pausedBy").asString()).isNotEmpty();
    assertThat(paused.get("pausedAt").asString()).endsWith("Z");
    assertThat(paused.get("nextRuns")).as("next runs if it were resumed").hasSize(5);
    assertThat(kept.get("paused").asBoolean()).isTrue();
    assertThat(kept.get("pausedReason").asString()).isEqualTo("the target moves");
    assertThat(resumed.get("paused").asBoolean()).isFalse();
    assertThat(resumed.get("pausedReason").isNull()).isTrue();
    assertThat(get("/pausing").get("status").asString()).isEqualTo("ACTIVE");
    post("pausing/pause", "{'reason':'" + "x".repeat(501) + "'}").expect(ErrorCode.TOO_LONG);
  }

  @Test
  void a_schedule_without_further_runs_is_finished() {
    put("short", "{'type':'t','every':'1h','endAt':'2999-01-01T00:00:00Z','maxRuns':2}")
        .expect(201);
    assertThat(get("/short").get("nextRuns")).hasSize(2);
    api.world.sql("UPDATE carillon.schedule SET runs = 2 WHERE name = 'short'");

    assertThat(get("/short").get("nextRuns")).isEmpty();
    assertThat(get("/short").get("status").asString()).isEqualTo("FINISHED");

    api.world.sql(
        "UPDATE carillon.schedule SET cursor = now() + interval '90 m' WHERE name = 'short'");
    assertThat(get("/short").get("nextRuns"))
        .as("next runs, with one of the two already planned")
        .hasSize(1);

    put(
            "ends",
            "{'type':'t','cron':'0 0 1 1 *','startAt':'2998-01-01T00:00:00Z',"
                + "'endAt':'2999-01-01T00:00:00Z'}")
        .expect(201);
    assertThat(get("/ends").get("nextRuns"))
        .extracting(run -> run.get("at").asString())
        .as("next runs, including startAt and endAt")
        .containsExactly("2998-01-01T00:00:00.000Z", "2999-01-01T00:00:00.000Z");
  }

  @Test
  void a_trigger_creates_a_task_and_is_listed_among_the_fires() {
    put("by-hand", "{'type':'hand','cron':'0 0 1 1 *','payload':{'a':1},'paused':true}")
        .expect(201);

    TestApi.Reply first = api.post("/v1/schedules/by-hand/trigger").send().expect(202);
    TestApi.Reply second = post("by-hand/trigger", "{'payload':{'b': 2.0}}").expect(202);

    assertThat(first.header("location")).isEqualTo("/v1/tasks/" + first.text("id"));
    assertThat(first.text("scheduleName")).isEqualTo("by-hand");
    assertThat(first.body()).contains("\"payload\":{\"a\":1}");
    assertThat(second.body()).contains("\"payload\":{\"b\": 2.0}");
    api.get("/v1/tasks/" + second.text("id")).send().expect(200);
    JsonNode fires = get("/by-hand/fires").get("items");
    assertThat(fires)
        .extracting(fire -> fire.get("taskId").asString())
        .containsExactly(second.text("id"), first.text("id"));
    assertThat(fires.get(0).get("kind").asString()).isEqualTo("trigger");
    assertThat(fires.get(0).get("outcome").asString()).isEqualTo("task");
    assertThat(fires.get(0).get("status").asString()).isEqualTo("PENDING");
    assertThat(fires.get(0).get("reason").isNull()).isTrue();
    assertThat(get("/by-hand/fires?outcome=skipped").get("items")).isEmpty();
    assertThat(get("/by-hand").get("lastRun").get("taskId").asString())
        .isEqualTo(second.text("id"));
    JsonNode page = get("/by-hand/fires?limit=1");
    assertThat(
            get("/by-hand/fires?limit=1&cursor=" + page.get("nextCursor").asString()).get("items"))
        .extracting(fire -> fire.get("taskId").asString())
        .containsExactly(first.text("id"));
    api.get("/v1/schedules/nightly/fires?cursor=" + page.get("nextCursor").asString())
        .send()
        .expect(ErrorCode.INVALID_CURSOR);
  }

  @Test
  void a_trigger_is_idempotent() throws Exception {
    put("once", "{'type':'once','every':'1h'}").expect(201);
    List<Future<TestApi.Reply>> replies = new ArrayList<>();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i < 8; i++) {
        replies.add(
            threads.submit(
                () ->
                    api.post("/v1/schedules/once/trigger")
                        .header("Idempotency-Key", "only")
                        .send()));
      }
    }

    List<String> ids = new ArrayList<>();
    for (Future<TestApi.Reply> reply : replies) {
      if (reply.get().status() == 202) {
        ids.add(reply.get().text("id"));
      } else {
        reply.get().expect(ErrorCode.IDEMPOTENCY_PENDING);
      }
    }
    assertThat(ids).isNotEmpty().containsOnly(ids.getFirst());
    assertThat(get("/once/fires").get("items")).hasSize(1);
    assertThat(api.get("/v1/tasks?type=once").send().json().get("items")).hasSize(1);
  }

  @Test
  void a_payload_must_match_the_schema_of_its_type() {
    api.put("/v1/types/shaped")
        .json("{\"schema\": {\"type\": \"object\", \"required\": [\"id\"]}}")
        .send()
        .expect(201);
    put("shaped", "{'type':'shaped','every':'1h','payload':{'id':1}}").expect(201);

    post("shaped/trigger", "{'payload':{'no':1}}").expect(ErrorCode.SCHEMA_MISMATCH);
    assertThat(get("/shaped/fires").get("items")).isEmpty();
    put("shaped", "{'type':'shaped','every':'1h','payload':[]}").expect(ErrorCode.SCHEMA_MISMATCH);
    assertThat(get("/shaped").get("version").asInt()).isEqualTo(1);
  }

  @Test
  void lists_omit_payloads_by_default_and_show_the_next_run() {
    put("listed", "{'type':'t','every':'1h','payload':{'secret':'p4yl0ad'}}").expect(201);

    JsonNode basic = named(get("?limit=1000"), "listed");
    JsonNode full = named(get("?limit=1000&view=full"), "listed");

    assertThat(basic.has("payload")).isFalse();
    assertThat(basic.has("nextRuns")).isFalse();
    assertThat(basic.get("nextRun").get("at").asString()).endsWith("Z");
    assertThat(basic.get("status").asString()).isEqualTo("ACTIVE");
    assertThat(full.get("payload").get("secret").asString()).isEqualTo("p4yl0ad");
    JsonNode first = get("?limit=1");
    assertThat(get("?limit=1&cursor=" + first.get("nextCursor").asString()).get("items").get(0))
        .isNotEqualTo(first.get("items").get(0));
  }

  @Test
  void lists_show_the_newest_fires_on_request() {
    put("fired", "{'type':'t','every':'30d'}").expect(201);
    put("fired-never", "{'type':'t','every':'30d'}").expect(201);
    String first = post("fired/trigger", "{}").expect(202).text("id");
    String second = post("fired/trigger", "{}").expect(202).text("id");

    JsonNode page = get("?fires=2&limit=100");

    assertThat(named(page, "fired").get("fires"))
        .isEqualTo(get("/fired/fires").get("items"))
        .extracting(fire -> fire.get("taskId").asString())
        .containsExactly(second, first);
    assertThat(named(page, "fired-never").get("fires")).isEmpty();
    assertThat(named(get("?fires=1"), "fired").get("fires")).hasSize(1);
    assertThat(named(get("?limit=1000"), "fired").has("fires")).isFalse();
    for (String query : List.of("fires=0", "fires=31", "fires=1&limit=101")) {
      api.get("/v1/schedules?" + query).send().expect(ErrorCode.OUT_OF_RANGE);
    }
    api.get("/v1/schedules?fires=x").send().expect(ErrorCode.INVALID_PARAMETER);
  }

  private static JsonNode named(JsonNode page, String name) {
    return page.get("items")
        .valueStream()
        .filter(each -> each.get("name").asString().equals(name))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void a_key_limited_to_types_sees_only_their_schedules() {
    String owner = api.key("s-corp", "owner");
    String producer = api.key("s-corp", "producer", "mine");
    for (String type : List.of("mine", "theirs")) {
      api.request("PUT", "/v1/schedules/of-" + type)
          .as(owner)
          .json("{\"type\":\"%s\",\"every\":\"1h\"}".formatted(type))
          .send()
          .expect(201);
    }

    assertThat(
            api.request("GET", "/v1/schedules").as(producer).send().expect(200).json().get("items"))
        .extracting(each -> each.get("name").asString())
        .containsExactly("of-mine");
    api.request("GET", "/v1/schedules/of-mine").as(producer).send().expect(200);
    api.request("GET", "/v1/schedules/of-mine/fires").as(producer).send().expect(200);
    String theirs =
        api.request("GET", "/v1/schedules/of-theirs").as(producer).send().expect(404).body();
    assertThat(theirs)
        .isEqualTo(api.request("GET", "/v1/schedules/none").as(producer).send().body());
    api.request("GET", "/v1/schedules/of-theirs/fires").as(producer).send().expect(404);
    api.request("POST", "/v1/schedules/of-mine/trigger")
        .as(producer)
        .send()
        .expect(ErrorCode.MISSING_SCOPE);
    String other = api.key("t-corp", "owner");
    for (String path : List.of("", "/fires")) {
      api.request("GET", "/v1/schedules/of-mine" + path).as(other).send().expect(404);
    }
    for (String verb : List.of("pause", "resume", "trigger")) {
      api.request("POST", "/v1/schedules/of-mine/" + verb).as(other).send().expect(404);
    }
    api.request("DELETE", "/v1/schedules/of-mine").as(other).send().expect(404);
  }

  @Test
  void a_strict_tenant_rejects_schedules_of_unknown_types() {
    String owner = api.key("u-corp", "owner");
    api.put("/v1/tenants/u-corp").json("{\"strict\": true}").send().expect(200);

    TestApi.Reply rejected =
        api.request("PUT", "/v1/schedules/n")
            .as(owner)
            .json("{\"type\":\"t\",\"every\":\"1h\"}")
            .send()
            .expect(ErrorCode.UNKNOWN_TYPE);

    assertThat(rejected.json().get("errors").get(0).get("pointer").asString()).isEqualTo("/type");
  }

  @Test
  void changes_are_audited() {
    put("watched", "{'type':'t','every':'1h'}").expect(201);
    post("watched/pause", "{'reason':'why not'}").expect(200);
    post("watched/trigger", "{}").expect(202);
    post("watched/resume", "{}").expect(200);
    api.delete("/v1/schedules/watched").send().expect(204);

    JsonNode entries = api.get("/v1/audit?subject=watched").send().expect(200).json().get("items");

    assertThat(entries)
        .extracting(entry -> entry.get("action").asString())
        .containsExactly(
            "schedule.delete",
            "schedule.resume",
            "schedule.trigger",
            "schedule.pause",
            "schedule.put");
    assertThat(entries.get(3).toString()).contains("why not");
  }

  @Test
  void a_preview_lists_a_bounded_number_of_skipped_times() {
    String rest = "'timezone':'Europe/Berlin','dst':{'gap':'skip'},'count':2,'from':";
    JsonNode seconds =
        post("preview", "{'cron':'* * * * * *'," + rest + "'2027-03-28T00:59:58Z'}")
            .expect(200)
            .json()
            .get("nextRuns");
    JsonNode never =
        post("preview", "{'cron':'30 2 * 3 SUNL'," + rest + "'2027-01-01T00:00:00Z'}")
            .expect(200)
            .json()
            .get("nextRuns");

    assertThat(seconds).hasSize(102);
    assertThat(seconds.valueStream().filter(run -> !run.get("skipped").asBoolean()))
        .extracting(run -> run.get("at").asString())
        .containsExactly("2027-03-28T00:59:59.000Z", "2027-03-28T01:00:00.000Z");
    assertThat(never).hasSize(100).allMatch(run -> run.get("skipped").asBoolean());
  }

  @Test
  void a_preview_explains_changes_to_and_from_dst() {
    JsonNode shifted =
        post(
                "preview",
                "{'cron':'30 2 * *"
                    + " *','timezone':'Europe/Berlin','count':3,'from':'2027-03-27T00:00:00Z'}")
            .expect(200)
            .json();
    JsonNode skipped =
        post(
                "preview",
                "{'cron':'30 2 * * *','timezone':'Europe/Berlin','dst':{'gap':'skip'},'count':3,"
                    + "'from':'2027-03-27T00:00:00Z'}")
            .expect(200)
            .json();
    JsonNode both =
        post(
                "preview",
                "{'cron':'30 2 * *"
                    + " *','timezone':'Europe/Berlin','dst':{'overlap':'both'},'count':2,"
                    + "'from':'2027-10-31T00:00:00Z'}")
            .expect(200)
            .json();

    assertThat(shifted.get("description").asString()).isEqualTo("At 02:30 every day");
    assertThat(shifted.get("nextRuns").get(1).get("at").asString())
        .isEqualTo("2027-03-28T01:00:00.000Z");
    assertThat(shifted.get("nextRuns").get(1).get("local").asString())
        .isEqualTo("2027-03-28T03:00:00+02:00[Europe/Berlin]");
    assertThat(shifted.get("nextRuns").get(1).get("note").asString())
        .isEqualTo(
            "02:30 does not exist on this day: clocks go forward from 02:00 to 03:00; fires when"
                + " the gap ends");
    assertThat(shifted.get("nextRuns").get(0).get("note").isNull()).isTrue();
    assertThat(skipped.get("nextRuns"))
        .extracting(run -> run.get("at").asString() + " " + run.get("skipped"))
        .as("three that fire, and one that is skipped")
        .containsExactly(
            "2027-03-27T01:30:00.000Z false",
            "2027-03-28T01:00:00.000Z true",
            "2027-03-29T00:30:00.000Z false",
            "2027-03-30T00:30:00.000Z false");
    assertThat(shifted.get("nextRuns")).noneMatch(run -> run.get("skipped").asBoolean());
    assertThat(both.get("nextRuns"))
        .extracting(run -> run.get("at").asString())
        .containsExactly("2027-10-31T00:30:00.000Z", "2027-10-31T01:30:00.000Z");
    assertThat(both.get("nextRuns")).allMatch(run -> run.get("note").asString().contains("twice"));
  }

  @Test
  void a_preview_accepts_every_rule_of_a_schedule() {
    assertThat(
            post(
                    "preview",
                    "{'every':'90m','startAt':'2030-01-01T00:00:00Z','endAt':'2030-01-01T03:00:00Z'}")
                .expect(200)
                .json()
                .get("nextRuns"))
        .extracting(run -> run.get("at").asString())
        .containsExactly(
            "2030-01-01T00:00:00.000Z", "2030-01-01T01:30:00.000Z", "2030-01-01T03:00:00.000Z");
    assertThat(
            post("preview", "{'cron':'0 0 29 2 *','from':'2096-03-01T00:00:00Z','count':1}")
                .expect(200)
                .json()
                .get("nextRuns")
                .get(0)
                .get("at")
                .asString())
        .isEqualTo("2104-02-29T00:00:00.000Z");
    String hashed = "{'cron':'H H * * *','name':'%s','from':'2030-01-01T00:00:00Z','count':1}";
    assertThat(post("preview", hashed.formatted("one")).expect(200).body())
        .isEqualTo(post("preview", hashed.formatted("one")).expect(200).body())
        .isNotEqualTo(post("preview", hashed.formatted("another")).expect(200).body());
    for (String cron :
        List.of(
            "@every 1s",
            "@every 1h",
            "@every PT1H30M",
            "@yearly",
            "0 0 L * *",
            "0 0 15W * *",
            "0 0 * * 5#2",
            "* * * * 7",
            "0 0 29 2 1",
            "*/15 * * * * *")) {
      assertThat(post("preview", "{'cron':'" + cron + "'}").expect(200).json().get("nextRuns"))
          .as(cron)
          .hasSize(5);
    }
    assertThat(
            post("preview", "{'every':'1h','from':'9999-12-31T22:30:00Z'}")
                .expect(200)
                .json()
                .get("nextRuns"))
        .as("times end with the year 9999")
        .hasSize(1);
  }

  @Test
  void the_most_expensive_preview_is_fast() {
    String expensive =
        "{'cron':'59 59 23 29 2 *','timezone':'Australia/Lord_Howe','count':100,"
            + "'from':'2026-01-01T00:00:00Z'}";
    post("preview", expensive).expect(200);
    long start = System.nanoTime();

    assertThat(post("preview", expensive).expect(200).json().get("nextRuns")).hasSize(100);

    assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(2));
  }
}
