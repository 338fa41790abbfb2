package carillon.store.db;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PoolTest {

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20})
  void the_socket_timeout_is_well_above_the_statement_timeout(int lease) {
    Duration statementTimeout = Duration.ofSeconds(lease).dividedBy(4); // like the heartbeat

    Duration socketTimeout = new Db.Pool("test", 1, statementTimeout).socketTimeout();

    assertThat(socketTimeout).isGreaterThanOrEqualTo(statementTimeout.multipliedBy(3).dividedBy(2));
    assertThat(socketTimeout)
        .isLessThan(statementTimeout.multipliedBy(3).dividedBy(2).plusSeconds(1));
    assertThat(socketTimeout).isEqualTo(Duration.ofSeconds(socketTimeout.toSeconds()));
  }
}
