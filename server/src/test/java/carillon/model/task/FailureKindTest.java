package carillon.model.task;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.task.FailureKind.Cause;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class FailureKindTest {

  @Test
  void every_kind_has_its_cause() {
    assertThat(
            Arrays.stream(FailureKind.values())
                .collect(Collectors.toMap(kind -> kind, FailureKind::cause)))
        .isEqualTo(
            Map.ofEntries(
                Map.entry(FailureKind.DNS, Cause.NOT_REACHED),
                Map.entry(FailureKind.ADDRESS_NOT_ALLOWED, Cause.NOT_REACHED),
                Map.entry(FailureKind.CONNECTION, Cause.NOT_REACHED),
                Map.entry(FailureKind.CONNECT_TIMEOUT, Cause.NOT_REACHED),
                Map.entry(FailureKind.TLS, Cause.NOT_REACHED),
                Map.entry(FailureKind.STATUS, Cause.TARGET_FAILED),
                Map.entry(FailureKind.TIMEOUT, Cause.TARGET_FAILED),
                Map.entry(FailureKind.BROKEN, Cause.TARGET_FAILED),
                Map.entry(FailureKind.PROTOCOL, Cause.TARGET_FAILED),
                Map.entry(FailureKind.WORKER, Cause.TARGET_FAILED),
                Map.entry(FailureKind.UNROUTABLE, Cause.TARGET_FAILED),
                Map.entry(FailureKind.BROKER_REFUSED, Cause.TARGET_FAILED),
                Map.entry(FailureKind.CREDENTIAL_MISSING, Cause.NOT_REACHED),
                Map.entry(FailureKind.BROKER_LOST, Cause.NOT_REACHED),
                Map.entry(FailureKind.LEASE_LOST, Cause.LEASE_LOST),
                Map.entry(FailureKind.SHUTDOWN, Cause.SHUTDOWN),
                Map.entry(FailureKind.CRASHED, Cause.CRASHED),
                Map.entry(FailureKind.POISON, Cause.CRASHED)));
  }

  @Test
  void a_kind_is_found_by_its_exact_name() {
    assertThat(FailureKind.named("DNS")).contains(FailureKind.DNS);
    assertThat(FailureKind.named("created")).isEmpty();
  }

  @Test
  void a_kind_is_found_by_its_label_in_any_case() {
    assertThat(FailureKind.CONNECT_TIMEOUT.label()).isEqualTo("connect_timeout");
    assertThat(FailureKind.labelled("Connect_Timeout")).contains(FailureKind.CONNECT_TIMEOUT);
    assertThat(FailureKind.labelled("")).isEmpty();
  }
}
