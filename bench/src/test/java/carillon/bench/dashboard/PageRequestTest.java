package carillon.bench.dashboard;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashSet;
import java.util.Map;
import org.junit.jupiter.api.Test;

class PageRequestTest {

  @Test
  void placeholders_are_replaced_by_examples() {
    PageRequest request = new PageRequest("A task", "/v1/tasks/{dead}?key={key}&other={dead}");

    assertThat(request.path(Map.of("dead", "7", "key", "order-1")))
        .isEqualTo("/v1/tasks/7?key=order-1&other=7");
  }

  @Test
  void each_request_is_made_once() {
    assertThat(new HashSet<>(PageRequest.ALL)).hasSameSizeAs(PageRequest.ALL);
  }
}
