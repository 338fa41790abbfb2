package carillon.delivery;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.delivery.http.Attempt;
import carillon.model.task.ClaimedTask;
import java.util.Map;
import org.junit.jupiter.api.Test;

class MessageHeadersTest {

  @Test
  void a_message_has_the_headers_of_a_request_and_of_cloud_events() {
    Map<String, String> headers = headers(Attempt.at("http://target.example").number(3).task());

    assertThat(headers)
        .containsEntry("webhook-id", Attempt.ID.toString())
        .containsEntry("Carillon-Task-Type", "invoice.send")
        .containsEntry("Carillon-Attempt", "3")
        .containsEntry("Carillon-Fence", "9")
        .containsEntry("Carillon-Due-At", "2026-11-15T09:59:58.007Z")
        .containsEntry("ce_id", Attempt.ID.toString())
        .containsEntry("ce_time", "2026-11-15T09:59:58.007Z")
        .doesNotContainKeys("webhook-signature", "Carillon-Key", "Carillon-Token");
  }

  @Test
  void a_key_may_contain_any_characters() {
    assertThat(headers(Attempt.at("http://target.example").key("schl\u00fcssel \u9375").task()))
        .containsEntry("Carillon-Key", "schl\u00fcssel \u9375");
  }

  private static Map<String, String> headers(ClaimedTask task) {
    return MessageHeaders.of(task, MessageHeaders.body(task), Attempt.NOW);
  }
}
