package carillon.engine;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.Signal;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class SeatsTest {

  private final AtomicInteger raised = new AtomicInteger();

  private Seats seats(int all, int saveBacklog, int minBatch) {
    Signal freed = new Signal();
    freed.add(raised::incrementAndGet);
    return new Seats(all, saveBacklog, minBatch, freed);
  }

  private static void claim(Seats seats, int tasks) {
    assertThat(seats.tryTake(tasks)).isTrue();
    seats.claimed(tasks);
  }

  @Test
  void seats_taken_for_a_claim_are_not_free_and_run_nothing() throws InterruptedException {
    Seats seats = seats(4, 4, 1);
    assertThat(seats.takeUpTo(3)).isEqualTo(3);
    assertThat(seats.free()).isEqualTo(1);
    assertThat(seats.running()).isZero();
    assertThat(seats.awaitEmpty(Duration.ZERO)).isFalse();

    seats.claimed(1);
    seats.returnUnused(2);

    assertThat(seats.running()).isEqualTo(1);
    assertThat(seats.free()).isEqualTo(3);
    seats.abandon(1, 1);
    assertThat(seats.awaitEmpty(Duration.ZERO)).isTrue();
    assertThat(seats.free()).isEqualTo(4);
  }

  @Test
  void a_task_that_waits_to_be_saved_holds_no_seat() throws InterruptedException {
    Seats seats = seats(2, 2, 1);
    claim(seats, 2);
    assertThat(seats.free()).isZero();

    seats.tried();

    assertThat(seats.free()).isEqualTo(1);
    assertThat(raised).hasValue(1);
    assertThat(seats.running()).isEqualTo(1);
    assertThat(seats.waitingToBeSaved()).isEqualTo(1);
    assertThat(seats.awaitEmpty(Duration.ofMillis(1))).isFalse();
  }

  @Test
  void no_seat_is_free_while_the_save_backlog_is_full() throws InterruptedException {
    Seats seats = seats(2, 2, 1);
    claim(seats, 2);
    seats.tried();
    seats.tried();
    claim(seats, 2);
    seats.tried();
    seats.tried();
    int before = raised.get();

    assertThat(seats.free()).isZero();
    assertThat(seats.taken()).isEqualTo(2);
    assertThat(seats.tryTake(1)).isFalse();

    seats.saved(3);
    assertThat(seats.free()).isEqualTo(2); // however long the save backlog is
    assertThat(raised).hasValue(before + 1);
    seats.saved(1);
    assertThat(seats.awaitEmpty(Duration.ZERO)).isTrue();
    assertThat(seats.free()).isEqualTo(2);
  }

  @Test
  void a_claimer_is_woken_when_enough_seats_are_free() {
    Seats seats = seats(4, 4, 3);
    claim(seats, 4);

    seats.tried(); // the first free seat
    assertThat(raised).hasValue(1);
    seats.tried();
    assertThat(raised).hasValue(1);
    assertThat(seats.hasMinBatch()).isFalse();
    seats.tried();

    assertThat(raised).hasValue(2);
    assertThat(seats.hasMinBatch()).isTrue();
  }

  @Test
  void without_a_save_backlog_a_seat_is_held_until_the_outcome_is_saved() {
    Seats seats = seats(2, 0, 1);
    claim(seats, 2);

    seats.tried();
    seats.tried();
    assertThat(seats.free()).isZero();
    assertThat(raised).hasValue(0);
    seats.saved(2);

    assertThat(seats.free()).isEqualTo(2);
    assertThat(raised).hasValue(1);
  }

  @Test
  void seats_freed_at_the_same_time_raise_the_signal() throws InterruptedException {
    for (int round = 0; round < 2_000; round++) {
      Seats seats = seats(2, 2, 2);
      claim(seats, 2);
      raised.set(0);

      Thread other = Thread.startVirtualThread(seats::tried);
      seats.tried();
      other.join();

      // Once for the first free seat, and once for the one that completes the batch.
      assertThat(raised).hasValue(2);
    }
  }
}
