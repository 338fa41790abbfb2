package carillon.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.model.Signal;
import carillon.model.cluster.NodeLease;
import carillon.model.cluster.Term;
import carillon.store.cluster.Leadership;
import carillon.store.db.Db;
import carillon.store.db.StoreException;
import carillon.testkit.World;
import java.time.Duration;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ElectionTest {

  private static final Duration LEASE = Duration.ofSeconds(5);

  private World world;
  private long now = 1_000;
  private NodeLease lease = new NodeLease("a", Long.MAX_VALUE);

  private final Signal won = new Signal();

  @BeforeEach
  void open() {
    world = World.create();
  }

  @AfterEach
  void close() {
    world.close();
  }

  private Election election(Db db) {
    return new Election(new Leadership(db), () -> lease, LEASE, () -> now, new Random(1), won);
  }

  private Election rival() {
    return new Election(
        new Leadership(world.db),
        () -> new NodeLease("b", Long.MAX_VALUE),
        LEASE,
        () -> now,
        new Random(2),
        new Signal());
  }

  private void lapse() {
    world.sql("UPDATE carillon.leadership SET lease_until = clock_timestamp()");
  }

  @Test
  void the_first_candidate_leads_and_stays_leader() {
    Election election = election(world.db);
    Election rival = rival();
    AtomicInteger wins = new AtomicInteger();
    won.add(wins::incrementAndGet);

    for (int pass = 0; pass < 3; pass++) {
      assertThat(election.electOnce().delay()).isBetween(LEASE.dividedBy(20), LEASE.dividedBy(10));
      rival.electOnce();
    }

    assertThat(election.term()).contains(new Term(1, "a"));
    assertThat(rival.term()).isEmpty();
    assertThat(wins).hasValue(1);
  }

  @Test
  void a_leader_without_a_database_steps_down_before_another_can_take_over() {
    Db db = Db.open(world.address, "election", 1);
    Election election = election(db);
    election.electOnce();
    db.close();

    now += LEASE.toNanos() / 5 * 4 - 1;
    assertThatThrownBy(election::electOnce).isInstanceOf(StoreException.class);
    assertThat(election.term()).isPresent();

    now += 1;
    assertThat(election.term()).isEmpty();
  }

  @Test
  void a_pass_without_a_query_is_no_proof_of_a_reachable_database() {
    Election election = election(world.db);
    election.contendWhile(() -> false);

    assertThat(election.electOnce().isProof()).isFalse();

    election.contendWhile(() -> true);
    assertThat(election.electOnce().isProof()).isTrue();
  }

  @Test
  void the_lease_counts_from_before_the_query() {
    Election election =
        new Election(
            new Leadership(world.db),
            () -> lease,
            LEASE,
            this::advanceOneSecond,
            new Random(1),
            won);

    election.electOnce(); // reads the clock twice: for the node's lease, and before the query
    long queriedAt = now;

    now = queriedAt + LEASE.toNanos() / 5 * 4 - Duration.ofSeconds(1).toNanos() - 1;
    assertThat(election.term()).isPresent();
    assertThat(election.term()).as("a second later").isEmpty();
  }

  private long advanceOneSecond() {
    now += Duration.ofSeconds(1).toNanos();
    return now;
  }

  @Test
  void a_leader_that_lost_its_connection_continues_its_term_if_no_other_took_over() {
    Election election = election(world.db);
    election.electOnce();
    now += LEASE.toNanos();
    assertThat(election.term()).isEmpty();

    election.electOnce();

    assertThat(election.term()).contains(new Term(1, "a"));
  }

  @Test
  void a_leader_with_a_lapsed_lease_steps_down_and_needs_a_new_term() {
    Election election = election(world.db);
    election.electOnce();
    lapse();

    election.electOnce();
    assertThat(election.term()).isEmpty();
    election.electOnce();
    assertThat(election.term()).contains(new Term(2, "a"));

    lapse();
    Election rival = rival();
    rival.electOnce();
    election.electOnce();
    assertThat(election.term()).isEmpty();
    assertThat(rival.term()).contains(new Term(3, "b"));
  }

  @Test
  void a_resigned_leader_is_replaced_at_once() {
    Election election = election(world.db);
    Election rival = rival();
    election.electOnce();

    election.resign();
    rival.electOnce();

    assertThat(election.term()).isEmpty();
    assertThat(rival.term()).contains(new Term(2, "b"));
  }

  @Test
  void a_leader_that_cannot_do_its_work_resigns_and_does_not_contend_until_it_can() {
    Election election = election(world.db);
    Election rival = rival();
    AtomicReference<Optional<String>> problem = new AtomicReference<>(Optional.empty());
    election.leadUnlessStuck(problem::get);
    election.electOnce();
    assertThat(election.term()).isPresent();

    problem.set(Optional.of("loop reaper is stuck"));
    election.electOnce();
    assertThat(election.term()).isEmpty();
    election.electOnce();
    assertThat(new Leadership(world.db).current()).as("leader").isEmpty();
    rival.electOnce();
    assertThat(rival.term()).contains(new Term(2, "b"));

    rival.resign();
    problem.set(Optional.empty());
    election.electOnce();
    assertThat(election.term()).contains(new Term(3, "a"));
  }

  @Test
  void a_node_that_rejoined_resigns_and_contends_under_its_new_id() {
    Election election = election(world.db);
    election.electOnce();
    lease = new NodeLease("a-again", Long.MAX_VALUE);

    election.electOnce();
    assertThat(election.term()).isEmpty();
    election.electOnce();

    assertThat(election.term()).contains(new Term(2, "a-again"));
  }

  @Test
  void a_node_that_does_not_trust_its_own_lease_neither_leads_nor_contends() {
    Election election = election(world.db);
    election.electOnce();
    lease = new NodeLease("a", now);

    election.electOnce();
    election.electOnce();

    assertThat(election.term()).isEmpty();
    assertThat(new Leadership(world.db).current()).isEmpty();
  }

  @Test
  void a_node_that_sees_a_leader_does_not_contend() {
    Election election = election(world.db);
    AtomicBoolean isVacant = new AtomicBoolean();
    election.contendWhile(isVacant::get);

    election.electOnce();
    assertThat(election.term()).isEmpty();

    isVacant.set(true);
    election.electOnce();
    assertThat(election.term()).contains(new Term(1, "a"));

    isVacant.set(false); // this node leads; a leader renews even then
    lapse();
    election.electOnce();
    assertThat(election.term()).isEmpty();
  }
}
