package carillon.chaos.load;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import org.junit.jupiter.api.Test;

class SchedulesTest {

  private static final Instant NIGHT = Instant.parse("2026-01-10T22:59:00Z");

  @Test
  void a_cron_expression_names_the_hours_of_its_zone() {
    assertThat(Schedules.cron(3, "Europe/Berlin", NIGHT, false)).isEqualTo("*/3 * 23,0 * * *");
    assertThat(Schedules.cron(3, "America/New_York", NIGHT, false)).isEqualTo("*/3 * 17,18 * * *");
  }

  @Test
  void a_schedule_that_is_never_due_would_be_due_in_utc() {
    assertThat(Schedules.cron(3, "Europe/Berlin", NIGHT, true)).isEqualTo("*/3 * 22 * * *");
  }
}
