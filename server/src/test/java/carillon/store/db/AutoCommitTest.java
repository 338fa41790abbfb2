package carillon.store.db;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.testkit.World;
import java.time.Instant;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Single statements on pooled connections that otherwise run transactions. */
class AutoCommitTest {

  private static final String TRANSACTION_START =
      """
      /* AutoCommitTest.transactionStart */
      SELECT now() AS start
      """;

  private static final String WRITE =
      """
      /* AutoCommitTest.write */
      INSERT INTO written DEFAULT VALUES
      """;

  private World world;
  private Db db;

  @BeforeEach
  void open() {
    world = World.create();
    world.sql("CREATE TABLE written (seq bigint GENERATED ALWAYS AS IDENTITY)");
    db = Db.open(world.address, "autocommit", 1);
  }

  @AfterEach
  void close() {
    db.close();
    world.close();
  }

  private static Instant transactionStart(Tx tx) {
    return tx.query(TRANSACTION_START, row -> Sql.requiredInstant(row, "start")).getFirst();
  }

  @Test
  void autocommit_opens_no_transaction() {
    assertThat(db.<Boolean>autoCommit(tx -> transactionStart(tx).equals(transactionStart(tx))))
        .isFalse();
  }

  @Test
  void a_connection_runs_transactions_again_after_autocommit() {
    db.autoCommit(AutoCommitTest::transactionStart);

    assertThatThrownBy(
            () ->
                db.inTransaction(
                    tx -> {
                      tx.update(WRITE);
                      throw new IllegalStateException("rolled back");
                    }))
        .isInstanceOf(IllegalStateException.class);

    assertThat(world.value("SELECT count(*) FROM written")).isEqualTo("0");
  }

  @Test
  void a_read_is_retried_when_its_connection_was_lost() {
    db.autoCommit(AutoCommitTest::transactionStart);
    world.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name ="
            + " 'carillon/autocommit' AND datname = current_database()");

    assertThat(db.autoCommit(AutoCommitTest::transactionStart)).isNotNull();
  }

  @Test
  void a_former_leader_sends_no_queries() {
    Db leaderDb = db.onlyInTerm(Optional::empty);

    assertThatThrownBy(() -> leaderDb.autoCommit(AutoCommitTest::transactionStart))
        .isInstanceOfSatisfying(StoreException.class, e -> assertThat(e.isStaleTerm()).isTrue());
    assertThat(leaderDb.staleTerms()).isEqualTo(1);
  }
}
