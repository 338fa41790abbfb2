package carillon.api.live;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

class BackgroundLoadTest {

  @Test
  void what_was_seen_is_told_by_another_thread() {
    Thread here = Thread.currentThread();
    try (var beside = new BackgroundLoad<>(Thread::currentThread)) {
      assertThat(beside.get()).isNotSameAs(here);
    }
  }

  @Test
  void it_fails_as_the_look_did() {
    var failure = new IllegalArgumentException("too much");
    try (var beside =
        new BackgroundLoad<String>(
            () -> {
              throw failure;
            })) {
      assertThatThrownBy(beside::get).isSameAs(failure);
    }
  }

  @Test
  void it_has_ended_when_its_owner_goes_on_though_that_was_interrupted() {
    var goOn = new CountDownLatch(1);
    var ended = new AtomicBoolean();
    Thread.currentThread().interrupt();
    try (var _ =
        new BackgroundLoad<>(
            () -> {
              await(goOn);
              ended.set(true);
              return "";
            })) {
      goOn.countDown();
    }
    assertThat(ended).isTrue();
    assertThat(Thread.interrupted()).isTrue();
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
