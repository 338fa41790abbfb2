package carillon.store.db;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.testkit.World;
import java.time.Instant;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Statements alone, on connections that are otherwise for transactions. */
class AutoCommitTest {

  private static final String BEGAN =
      """
      /* AutoCommitTest.began */
      SELECT now() AS began
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

  private static Instant began(Tx tx) {
    return tx.query(BEGAN, row -> Sql.requiredInstant(row, "began")).getFirst();
  }

  @Test
  void autocommit_opens_no_transaction() {
    assertThat(db.<Boolean>autoCommit(tx -> began(tx).equals(began(tx)))).isFalse();
  }

  @Test
  void the_connection_of_a_question_is_for_transactions_again_afterwards() {
    db.autoCommit(AutoCommitTest::began);

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
    db.autoCommit(AutoCommitTest::began);
    world.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name ="
            + " 'carillon/autocommit' AND datname = current_database()");

    assertThat(db.autoCommit(AutoCommitTest::began)).isNotNull();
  }

  @Test
  void a_former_leader_sends_no_queries() {
    Db leaderDb = db.onlyInTerm(Optional::empty);

    assertThatThrownBy(() -> leaderDb.autoCommit(AutoCommitTest::began))
        .isInstanceOfSatisfying(StoreException.class, e -> assertThat(e.isStaleTerm()).isTrue());
    assertThat(leaderDb.staleTerms()).isEqualTo(1);
  }
}
