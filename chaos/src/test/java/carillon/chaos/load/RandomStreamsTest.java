package carillon.chaos.load;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.EnumSet;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class RandomStreamsTest {

  @Test
  void draws_from_one_stream_do_not_affect_another() {
    RandomStreams streams = new RandomStreams(5);
    SplittableRandom load = streams.of("load");
    long first = new RandomStreams(5).of("nemesis").nextLong();

    load.nextLong();

    assertThat(streams.of("nemesis").nextLong()).isEqualTo(first);
    assertThat(streams.of("load").nextLong()).isNotEqualTo(first);
  }

  @Test
  void every_behaviour_occurs_and_a_task_always_has_the_same() {
    RandomStreams streams = new RandomStreams(5);
    Set<Behaviour> seen = EnumSet.noneOf(Behaviour.class);
    for (int n = 0; n < 1000; n++) {
      Behaviour behaviour = Behaviour.of(streams, n);
      seen.add(behaviour);
      assertThat(Behaviour.of(new RandomStreams(5), n)).isEqualTo(behaviour);
    }

    assertThat(seen).containsExactlyInAnyOrder(Behaviour.values());
  }
}
