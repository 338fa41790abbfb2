package carillon.api.targets;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.api.TestApi;
import carillon.api.error.ErrorCode;
import carillon.model.Partition;
import carillon.model.target.BrokerName;
import carillon.model.task.ClaimToken;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Lane;
import carillon.store.queue.WorkQueue;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Broker targets over HTTP: validation, grants and reports. */
class BrokerTargetApiTest {

  private static TestApi api;

  @BeforeAll
  static void start() {
    api =
        TestApi.withBrokers(
            new BrokerName(BrokerName.Kind.KAFKA, "main"),
            new BrokerName(BrokerName.Kind.RABBITMQ, "eu"),
            new BrokerName(BrokerName.Kind.RABBITMQ, "us"));
  }

  @AfterAll
  static void stop() {
    api.close();
  }

  private static String tasks() {
    return api.world.value("SELECT count(*) FROM carillon.task");
  }

  private static String json(String text) {
    return text.replace('\'', '"');
  }

  @Test
  void a_target_is_stored_with_its_cluster_and_completion_mode() {
    String id = api.task(json("{'type': 'a', 'target': {'kafka': {'topic': 'orders'}}}"));

    assertThat(api.get("/v1/tasks/" + id).send().expect(200).json().get("target").toString())
        .isEqualTo(json("{'kafka':{'cluster':'main','topic':'orders','complete':'onReport'}}"));
    assertThat(
            api.world.value(
                "SELECT route FROM carillon.lane l JOIN carillon.task t ON t.lane = l.id WHERE t.id"
                    + " = '"
                    + id
                    + "'"))
        .isEqualTo("REPORT:kafka/main");
  }

  @Test
  void a_type_may_limit_the_depth_of_its_queue() {
    api.put("/v1/types/deep")
        .json(
            json(
                "{'target': {'rabbitmq': {'routingKey': 'jobs', 'cluster': 'eu', 'complete':"
                    + " 'onPublish', 'maxDepth': 10}}}"))
        .send()
        .expect(201);

    assertThat(api.get("/v1/types/deep").send().json().get("target").toString())
        .isEqualTo(
            json(
                "{'rabbitmq':{'cluster':'eu','exchange':'','routingKey':'jobs','complete':'onPublish',"
                    + "'maxDepth':10,'queue':'jobs'}}"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{'kafka':{}}                                     | /topic      | REQUIRED_FIELD",
        "{'kafka':{'topic':''}}                           | /topic      | INVALID_VALUE",
        "{'kafka':{'topic':'__x'}}                        | /topic      | INVALID_VALUE",
        "{'kafka':{'topic':'a b'}}                        | /topic      | INVALID_VALUE",
        "{'kafka':{'topic':7}}                            | /topic      | INVALID_TYPE",
        "{'kafka':{'topic':'t','cluster':'x'}}            | /cluster    | TARGET_NOT_ALLOWED",
        "{'kafka':{'topic':'t','cluster':'A/b'}}          | /cluster    | TARGET_NOT_ALLOWED",
        "{'kafka':{'topic':'t','complete':'later'}}       | /complete   | INVALID_VALUE",
        "{'kafka':{'topic':'t','acks':0}}                 | /acks       | UNKNOWN_FIELD",
        "{'kafka':{'topic':'t','maxDepth':5,'group':'g'}} | /maxDepth   | INVALID_VALUE",
        "{'rabbitmq':{'routingKey':'q'}}                  | /cluster    | TARGET_NOT_ALLOWED",
        "{'rabbitmq':{'cluster':'eu'}}                    | /routingKey | REQUIRED_FIELD",
        "{'rabbitmq':{'cluster':'eu','routingKey':''}}    | /routingKey | INVALID_VALUE",
        "{'rabbitmq':{'cluster':'eu','routingKey':'q','exchange':'amq.direct'}} | /exchange |"
            + " INVALID_VALUE",
        "{'rabbitmq':{'cluster':'eu','routingKey':'q','queue':'q'}} | /queue | INVALID_VALUE",
      })
  void an_invalid_target_is_rejected_and_not_stored(String target, String field, ErrorCode code) {
    String before = tasks();
    String kind = target.contains("kafka") ? "kafka" : "rabbitmq";
    String body = json("{'type': 'refused', 'target': %s}".formatted(target));

    TestApi.Reply one = api.post("/v1/tasks").json(body).send().expect(code);
    assertThat(one.json().get("errors").get(0).get("pointer").asString())
        .isEqualTo("/target/" + kind + field);
    TestApi.Reply batch =
        api.post("/v1/tasks/batch").json("{\"tasks\": [" + body + "]}").send().expect(code);
    assertThat(batch.json().get("errors").get(0).get("pointer").asString())
        .isEqualTo("/tasks/0/target/" + kind + field);
    api.put("/v1/schedules/refused")
        .json(json("{'type': 'refused', 'every': '1h', 'target': %s}".formatted(target)))
        .send()
        .expect(code);

    assertThat(tasks()).isEqualTo(before);
    api.get("/v1/types/refused").send().expect(404);
    api.get("/v1/schedules/refused").send().expect(404);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{'kafka':{'topic':'t','maxDepth':5}}             | /kafka/group    | REQUIRED_FIELD",
        "{'kafka':{'topic':'t','group':'g'}}              | /kafka/group    | INVALID_VALUE",
        "{'kafka':{'topic':'t','group':'g','maxDepth':0}} | /kafka/maxDepth | OUT_OF_RANGE",
        "{'kafka':{'topic':'t','group':'','maxDepth':5}}  | /kafka/group    | INVALID_VALUE",
        "{'rabbitmq':{'cluster':'eu','exchange':'e','routingKey':'k','maxDepth':5}} |"
            + " /rabbitmq/queue | REQUIRED_FIELD",
      })
  void a_depth_limit_names_its_queue_or_group(String target, String field, ErrorCode code) {
    TestApi.Reply reply =
        api.put("/v1/types/limited")
            .json(json("{'target': %s}".formatted(target)))
            .send()
            .expect(code);

    assertThat(reply.json().get("errors").get(0).get("pointer").asString())
        .isEqualTo("/target" + field);
    api.get("/v1/types/limited").send().expect(404);
  }

  @Test
  void callbacks_and_alerts_cannot_use_brokers() {
    api.post("/v1/tasks")
        .json(json("{'type': 'a', 'onDead': {'kafka': {'topic': 't'}}}"))
        .send()
        .expect(ErrorCode.INVALID_VALUE);
    api.put("/v1/tenants/default")
        .json(json("{'alert': {'target': {'kafka': {'topic': 't'}}}}"))
        .send()
        .expect(ErrorCode.INVALID_VALUE);
  }

  @Test
  void a_tenant_can_publish_only_to_targets_that_an_admin_granted() {
    String owner = api.key("grants", "owner");
    String body = json("{'type': 'a', 'target': {'kafka': {'topic': 'orders.new'}}}");
    api.request("POST", "/v1/tasks")
        .as(owner)
        .json(body)
        .send()
        .expect(ErrorCode.TARGET_NOT_ALLOWED);
    api.request("PUT", "/v1/tenants/grants")
        .as(owner)
        .json("{\"publish\": [\"kafka/main/*\"]}")
        .send()
        .expect(403);

    TestApi.Reply put =
        api.put("/v1/tenants/grants")
            .json("{\"publish\": [\"kafka/main/orders.*\"]}")
            .send()
            .expect(200);
    assertThat(put.json().get("publish").toString()).isEqualTo("[\"kafka/main/orders.*\"]");
    String id = api.request("POST", "/v1/tasks").as(owner).json(body).send().expect(202).text("id");

    TestApi.Reply elsewhere =
        api.request("POST", "/v1/tasks")
            .as(owner)
            .json(body.replace("orders.new", "payments"))
            .send()
            .expect(ErrorCode.TARGET_NOT_ALLOWED);
    assertThat(elsewhere.json().get("errors").get(0).get("pointer").asString())
        .isEqualTo("/target/kafka/topic");
    api.request("PATCH", "/v1/tasks/" + id)
        .as(owner)
        .json(json("{'target': {'kafka': {'topic': 'payments'}}}"))
        .send()
        .expect(ErrorCode.TARGET_NOT_ALLOWED);
    api.request("PUT", "/v1/types/a")
        .as(owner)
        .json(json("{'target': {'rabbitmq': {'routingKey': 'q', 'cluster': 'eu'}}}"))
        .send()
        .expect(ErrorCode.TARGET_NOT_ALLOWED);
  }

  private static TestApi.Reply send(String path, String as, String key, String body) {
    return api.request("POST", path).as(as).header("Idempotency-Key", key).json(body).send();
  }

  @Test
  void a_repeated_request_gets_the_same_response_after_the_grant_is_revoked() {
    String owner = api.key("repeats", "owner");
    String task = json("{'type': 'a', 'target': {'kafka': {'topic': 'orders'}}}");
    String batch = "{\"tasks\": [" + String.join(",", Collections.nCopies(50, task)) + "]}";
    api.put("/v1/tenants/repeats").json("{\"publish\": [\"kafka/main/*\"]}").send().expect(200);
    TestApi.Reply one = send("/v1/tasks", owner, "g-1", task).expect(202);
    TestApi.Reply many = send("/v1/tasks/batch", owner, "g-2", batch).expect(202);
    String before = tasks();

    api.put("/v1/tenants/repeats").json("{\"publish\": []}").send().expect(200);

    assertThat(send("/v1/tasks", owner, "g-1", task).expect(202).text("id"))
        .isEqualTo(one.text("id"));
    assertThat(send("/v1/tasks/batch", owner, "g-2", batch).expect(202).body())
        .isEqualTo(many.body());
    send("/v1/tasks", owner, "g-3", task).expect(ErrorCode.TARGET_NOT_ALLOWED);
    send("/v1/tasks/batch", owner, "g-4", batch).expect(ErrorCode.TARGET_NOT_ALLOWED);
    assertThat(tasks()).isEqualTo(before);
  }

  @Test
  void a_repeated_request_gets_the_same_response_only_with_a_key_for_the_same_types() {
    String first = api.key("scopes", "producer", "a");
    String same = api.key("scopes", "producer", "a");
    String ofOtherType = api.key("scopes", "producer", "b");
    String task = json("{'type': 'a'}");
    String batch = "{\"tasks\": [" + task + "]}";
    TestApi.Reply one = send("/v1/tasks", first, "s-1", task).expect(202);
    TestApi.Reply many = send("/v1/tasks/batch", first, "s-2", batch).expect(202);

    assertThat(send("/v1/tasks", same, "s-1", task).expect(202).text("id"))
        .isEqualTo(one.text("id"));
    assertThat(send("/v1/tasks/batch", same, "s-2", batch).expect(202).body())
        .isEqualTo(many.body());
    send("/v1/tasks", ofOtherType, "s-1", task).expect(ErrorCode.IDEMPOTENCY_MISMATCH);
    send("/v1/tasks/batch", ofOtherType, "s-2", batch).expect(ErrorCode.IDEMPOTENCY_MISMATCH);
    send("/v1/tasks", ofOtherType, "s-3", task).expect(ErrorCode.MISSING_SCOPE);
    send("/v1/tasks/batch", ofOtherType, "s-4", batch).expect(ErrorCode.MISSING_SCOPE);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "['kafka/main']     | /publish/0 | INVALID_VALUE",
        "['kafka/main/a', 'redis/x/y'] | /publish/1 | INVALID_VALUE",
        "'kafka/main/a'     | /publish   | INVALID_TYPE",
        "[7]                | /publish/0 | INVALID_TYPE",
      })
  void an_invalid_grant_is_rejected(String publish, String pointer, ErrorCode code) {
    TestApi.Reply reply =
        api.put("/v1/tenants/refused")
            .json(json("{'publish': %s}".formatted(publish)))
            .send()
            .expect(code);

    assertThat(reply.json().get("errors").get(0).get("pointer").asString()).isEqualTo(pointer);
    api.get("/v1/tenants/refused").send().expect(404);
  }

  @Test
  void a_consumer_can_report_only_types_that_its_key_allows() {
    String id = api.task(json("{'type': 'mine', 'target': {'kafka': {'topic': 'mine'}}}"));
    ClaimedTask claimed = claimToReport("mine");
    assertThat(claimed.id().toString()).isEqualTo(id);
    String report =
        json("{'results': [{'id': '%s', 'token': '%s', 'outcome': 'completed'}]}")
            .formatted(id, ClaimToken.of(claimed.lease()));

    assertThat(reported(api.key("default", "worker", "other"), report)).isEqualTo("stale");
    assertThat(reported(api.key("elsewhere", "worker"), report)).isEqualTo("stale");
    assertThat(api.get("/v1/tasks/" + id).send().text("status")).isEqualTo("RUNNING");
    assertThat(reported(api.key("default", "worker", "mine"), report)).isEqualTo("accepted");
    assertThat(api.get("/v1/tasks/" + id).send().text("status")).isEqualTo("COMPLETED");
  }

  private static String reported(String key, String report) {
    return api.request("POST", "/v1/work/report")
        .as(key)
        .json(report)
        .send()
        .expect(200)
        .json()
        .get("results")
        .get(0)
        .get("result")
        .asString();
  }

  private static ClaimedTask claimToReport(String type) {
    List<ClaimedTask> claimed = new ArrayList<>();
    Awaitility.await()
        .until(
            () -> {
              for (Lane lane : api.world.catalog.lanes()) {
                if (lane.type().equals(type)) {
                  var quota = new WorkQueue.Quota(lane, 1, Instant.EPOCH);
                  claimed.addAll(
                      api.world
                          .store
                          .queue()
                          .claimDue(
                              Partition.of(api.world.clock.instant()),
                              List.of(quota),
                              WorkQueue.Claimant.reporter(
                                  UUID.randomUUID(), "kafka/main", Duration.ofMinutes(1)))
                          .tasks());
                }
              }
              return !claimed.isEmpty();
            });
    return claimed.getFirst();
  }
}
