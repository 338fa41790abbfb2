package carillon.chaos.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DeadlockLogTest {

  /** The format of PostgreSQL 18. */
  private static final String LOG =
      """
      2026-11-18 04:05:32.900 UTC [11]  LOG:  database system is ready to accept connections
      2026-11-18 04:05:33.100 UTC [12] m20 LOG:  process 12 still waiting for ShareLock on transaction 745
      2026-11-18 04:05:33.100 UTC [12] m20 DETAIL:  Process holding the lock: 13. Wait queue: 12.
      2026-11-18 04:05:33.123 UTC [13] m20 ERROR:  deadlock detected
      2026-11-18 04:05:33.123 UTC [13] m20 DETAIL:  Process 13 waits for ShareLock on transaction 744; blocked by process 12.
      \tProcess 12 waits for ShareLock on transaction 745; blocked by process 13.
      \tProcess 13: /* HeldClaims.retireOver */
      \tDELETE FROM carillon.claim c
      \tProcess 12: /* Outcomes.finish */
      \tWITH f AS MATERIALIZED (
      2026-11-18 04:05:33.123 UTC [13] m20 HINT:  See server log for query details.
      2026-11-18 04:05:33.123 UTC [13] m20 STATEMENT:  /* HeldClaims.retireOver */
      \tProcess 99: not of a deadlock
      2026-11-18 04:05:33.500 UTC [14] m2 ERROR:  deadlock detected
      2026-11-18 04:05:33.500 UTC [14] m2 DETAIL:  Process 14 waits for ShareLock on transaction 1; blocked by process 15.
      \tProcess 15 waits for ShareLock on transaction 2; blocked by process 14.
      \tProcess 14: /* WorkQueue.claimFull */
      \tProcess 15: UPDATE carillon.task SET ready_at = now() WHERE lane = 1 AND state = 'PENDING'
      """;

  @TempDir Path directory;

  @Test
  void a_deadlock_names_its_statements() throws IOException {
    Path log = Files.writeString(directory.resolve("postgres.log"), LOG);

    assertThat(DeadlockLog.read(log, "m20"))
        .containsExactly(
            new DeadlockLog.Deadlock(
                "2026-11-18 04:05:33.123 UTC",
                List.of("HeldClaims.retireOver", "Outcomes.finish")));
  }

  @Test
  void a_statement_without_a_name_is_identified_by_its_beginning() throws IOException {
    Path log = Files.writeString(directory.resolve("postgres.log"), LOG);

    assertThat(DeadlockLog.read(log, "m2").getFirst().statements())
        .containsExactly(
            "WorkQueue.claimFull", "UPDATE carillon.task SET ready_at = now() WHERE lane = 1 AND");
  }

  @Test
  void deadlocks_of_other_databases_are_ignored() throws IOException {
    Path log = Files.writeString(directory.resolve("postgres.log"), LOG);

    assertThat(DeadlockLog.read(log, "unmodified_workers")).isEmpty();
  }
}
