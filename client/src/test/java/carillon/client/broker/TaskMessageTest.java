package carillon.client.broker;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.client.ClaimedTask;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class TaskMessageTest {

  @Test
  void numbers_in_payloads_are_not_changed() {
    String body = "{\"price\":12345678901234567890.123456789,\"count\":123456789012345678901}";

    assertThat(read(body).payload().toString()).isEqualTo(body);
  }

  private static ClaimedTask read(String body) {
    TaskMessage read =
        TaskMessage.read(
            Map.of(
                "Carillon-Task-Id",
                UUID.randomUUID().toString(),
                "Carillon-Task-Type",
                "t",
                "Carillon-Attempt",
                "1",
                "Carillon-Fence",
                "1",
                "Carillon-Due-At",
                "2027-01-01T00:00:00Z"),
            body.getBytes(StandardCharsets.UTF_8),
            Set.of("t"),
            Instant.EPOCH);
    assertThat(read).isInstanceOf(TaskMessage.Valid.class);
    return ((TaskMessage.Valid) read).task();
  }
}
