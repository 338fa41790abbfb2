package carillon.store;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.Slot;
import java.time.Instant;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class AgendaTest {

  private static final Instant NOW = Instant.parse("2026-11-15T10:00:00Z");
  private static final Slot TODAY = Slot.of(NOW);

  private final Agenda agenda = new Agenda();
  private final AtomicInteger wakeUps = new AtomicInteger();

  AgendaTest() {
    agenda.whenEarlier(wakeUps::incrementAndGet);
  }

  @Test
  void of_two_times_the_earlier_is_kept_and_only_it_wakes_anybody() {
    agenda.note(TODAY, 1, NOW.plusSeconds(10));
    agenda.note(TODAY, 1, NOW.plusSeconds(20));
    agenda.note(TODAY, 1, NOW.plusSeconds(5));

    assertThat(agenda.earliest(_ -> true)).isEqualTo(NOW.plusSeconds(5));
    assertThat(wakeUps).hasValue(2);
  }

  @Test
  void what_is_due_is_taken_and_what_is_noted_meanwhile_is_kept() {
    agenda.note(TODAY, 1, NOW);
    agenda.note(TODAY, 2, NOW.plusSeconds(1));

    assertThat(agenda.takeDue(NOW, _ -> true)).containsExactly(new Agenda.Entry(TODAY, 1, NOW));
    agenda.note(TODAY, 1, NOW.plusSeconds(3));

    assertThat(agenda.takeDue(NOW, _ -> true)).isEmpty();
    assertThat(agenda.takeDue(NOW.plusSeconds(3), _ -> true)).hasSize(2);
  }

  @Test
  void lanes_that_are_not_asked_for_stay() {
    agenda.note(TODAY, 1, NOW);

    assertThat(agenda.takeDue(NOW, lane -> lane == 2)).isEmpty();
    assertThat(agenda.earliest(lane -> lane == 2)).isNull();
    assertThat(agenda.takeDue(NOW, lane -> lane == 1)).hasSize(1);
  }
}
