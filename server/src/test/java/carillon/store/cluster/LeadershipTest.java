package carillon.store.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.model.cluster.Term;
import carillon.store.db.Db;
import carillon.store.db.StoreException;
import carillon.testkit.Overlapping;
import carillon.testkit.World;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Two nodes may believe that they lead, but only the later one can write. */
class LeadershipTest {

  private static final Duration LEASE = Duration.ofMinutes(1);

  private static final String WRITE =
      """
      /* LeadershipTest.write */
      INSERT INTO written (term) VALUES (?)
      """;

  /** Extends the lease like a renewal before it lapses. */
  private static final String RENEW =
      """
      /* LeadershipTest.renew */
      UPDATE carillon.leadership SET lease_until = clock_timestamp() + interval '1 min'
      """;

  private static final String HOLD_TAKEOVER_BACK =
      """
      /* LeadershipTest.holdTakeoverBack */
      SELECT pg_advisory_xact_lock_shared(hashtext('carillon.leadership'))
      """;

  private World world;
  private Leadership leadership;
  private Overlapping overlapping;

  @BeforeEach
  void open() {
    world = World.create();
    world.sql("CREATE TABLE written (seq bigint GENERATED ALWAYS AS IDENTITY, term bigint)");
    leadership = new Leadership(world.db);
    overlapping = new Overlapping(world);
  }

  @AfterEach
  void close() {
    overlapping.close();
    world.close();
  }

  private Term take(String node) {
    return leadership.take(node, LEASE).orElseThrow();
  }

  private void lapse() {
    world.sql("UPDATE carillon.leadership SET lease_until = clock_timestamp()");
  }

  private Db leading(Term term) {
    return world.db.onlyInTerm(() -> Optional.of(term));
  }

  private void write(Term term) {
    leading(term).inTransaction(tx -> tx.update(WRITE, term.number()));
  }

  private String written() {
    return world.value("SELECT string_agg(term::text, ' ' ORDER BY seq) FROM written");
  }

  @Test
  void only_one_node_leads() {
    Term first = take("a");

    assertThat(first).isEqualTo(new Term(1, "a"));
    assertThat(leadership.take("b", LEASE)).isEmpty();
    assertThat(leadership.take("a", LEASE)).isEmpty();
    assertThat(leadership.renew(first, LEASE)).isTrue();
    assertThat(leadership.current()).map(Leadership.Led::term).contains(first);
  }

  @Test
  void a_lapsed_lease_is_never_revived() {
    Term first = take("a");
    lapse();

    assertThat(leadership.current()).isEmpty();
    assertThat(leadership.renew(first, LEASE)).isFalse();
    assertThat(take("a")).isEqualTo(new Term(2, "a"));
    assertThatThrownBy(() -> write(first)).isInstanceOf(StoreException.class);
  }

  @Test
  void a_lease_lapses_by_the_database_clock() {
    Term first = leadership.take("a", Duration.ofMillis(1)).orElseThrow();
    world.sql("SELECT pg_sleep(0.01)");

    assertThat(leadership.renew(first, LEASE)).isFalse();
    assertThat(leadership.take("b", LEASE)).contains(new Term(2, "b"));
  }

  @Test
  void a_resigned_leader_is_replaced_at_once_and_cannot_write() {
    Term first = take("a");
    leadership.resign(first);

    assertThat(leadership.current()).isEmpty();
    assertThatThrownBy(() -> write(first)).isInstanceOf(StoreException.class);
    assertThat(take("b")).isEqualTo(new Term(2, "b"));
  }

  @Test
  void a_late_resignation_does_not_affect_the_current_leader() {
    Term first = take("a");
    lapse();
    Term second = take("b");

    leadership.resign(first);
    assertThat(leadership.renew(first, LEASE)).isFalse();

    assertThat(leadership.renew(second, LEASE)).isTrue();
  }

  @Test
  void a_write_of_an_earlier_term_is_rejected_and_counted() {
    Term first = take("a");
    write(first);
    lapse();
    Term second = take("b");
    write(second);
    Db late = leading(first);

    assertThatThrownBy(() -> late.inTransaction(tx -> tx.update(WRITE, first.number())))
        .isInstanceOfSatisfying(
            StoreException.class,
            e -> {
              assertThat(e.isStaleTerm()).isTrue();
              assertThat(e.isUnavailable()).isFalse();
            });

    assertThat(late.staleTerms()).isEqualTo(1);
    assertThat(written()).isEqualTo("1 2");
  }

  @Test
  void a_transaction_without_a_term_is_rejected() {
    Db db = world.db.onlyInTerm(Optional::empty);

    assertThatThrownBy(() -> db.inTransaction(tx -> tx.update(WRITE, 0)))
        .isInstanceOfSatisfying(StoreException.class, e -> assertThat(e.isStaleTerm()).isTrue());
    assertThatThrownBy(() -> write(new Term(0, "a")))
        .as("the term before the first")
        .isInstanceOf(StoreException.class);

    assertThat(written()).isEqualTo("null");
  }

  @Test
  void a_takeover_waits_for_the_leaders_open_transactions()
      throws InterruptedException, ExecutionException {
    Term first = take("a");

    Optional<Term> second =
        overlapping.runWaiting(
            tx -> {
              assertThat(Db.isHeld(tx, first)).isTrue();
              lapse();
              tx.update(WRITE, first.number());
            },
            () -> {
              Optional<Term> taken = leadership.take("b", LEASE);
              assertThat(written()).as("committed before the takeover").isEqualTo("1");
              return taken;
            });

    assertThat(second).contains(new Term(2, "b"));
    assertThatThrownBy(() -> write(first)).isInstanceOf(StoreException.class);
  }

  @Test
  void a_write_that_starts_during_a_takeover_waits_and_is_rejected()
      throws InterruptedException, ExecutionException {
    Term first = take("a");
    lapse();
    Db late = leading(first);

    boolean rejected =
        overlapping.runWaiting(
            tx -> assertThat(Leadership.take(tx, "b", LEASE)).isPresent(),
            () -> {
              try {
                late.inTransaction(tx -> tx.update(WRITE, first.number()));
                return false;
              } catch (StoreException e) {
                return e.isStaleTerm();
              }
            });

    assertThat(rejected).isTrue();
    assertThat(written()).isEqualTo("null");
  }

  @Test
  void a_takeover_fails_if_a_concurrent_renewal_commits()
      throws InterruptedException, ExecutionException {
    Term first = take("a");
    lapse(); // for sessions that do not see the renewal yet

    Optional<Term> second =
        overlapping.runWaiting(tx -> tx.update(RENEW), () -> leadership.take("b", LEASE));

    assertThat(second).isEmpty();
    write(first);
    assertThat(written()).isEqualTo("1");
  }

  @Test
  void a_leader_frozen_in_its_transaction_delays_a_takeover_by_seconds_at_most()
      throws InterruptedException {
    Term first = take("a");
    CountDownLatch hasWritten = new CountDownLatch(1);
    CountDownLatch resumes = new CountDownLatch(1);
    try (ExecutorService threads = Executors.newCachedThreadPool()) {
      Future<?> frozen =
          threads.submit(
              () ->
                  leading(first)
                      .inTransaction(
                          tx -> {
                            tx.update(WRITE, first.number());
                            hasWritten.countDown();
                            return await(resumes);
                          }));
      hasWritten.await();
      lapse();
      long start = System.nanoTime();
      try {
        assertThat(takeWhenFree("b")).isEqualTo(new Term(2, "b"));
      } finally {
        resumes.countDown();
      }

      assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(5));
      assertThatThrownBy(frozen::get).hasCauseInstanceOf(StoreException.class);
      assertThat(written()).isEqualTo("null");
    }
  }

  /** Retries while the leadership is locked, like the election. */
  private Term takeWhenFree(String node) {
    while (true) {
      try {
        return take(node);
      } catch (StoreException e) {
        assertThat(e.isBusy()).isTrue();
      }
    }
  }

  @Test
  void a_blocked_takeover_fails_without_retrying() {
    take("a");
    lapse();

    world.db.inTransaction(
        tx -> {
          tx.query(HOLD_TAKEOVER_BACK, _ -> true);
          long start = System.nanoTime();
          assertThatThrownBy(() -> leadership.take("b", LEASE))
              .isInstanceOfSatisfying(StoreException.class, e -> assertThat(e.isBusy()).isTrue());
          assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(4));
          return true;
        });
  }

  private static boolean await(CountDownLatch latch) {
    try {
      latch.await();
      return true;
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void terms_of_racing_nodes_never_repeat_or_fall() throws Exception {
    int nodes = 8;
    long last = 150;
    List<Future<List<Term>>> racing = new ArrayList<>();
    try (ExecutorService threads = Executors.newCachedThreadPool()) {
      for (int i = 0; i < nodes; i++) {
        String node = "n" + i;
        racing.add(threads.submit(() -> race(node, last)));
      }
      List<Term> all = new ArrayList<>();
      for (Future<List<Term>> racer : racing) {
        List<Term> won = racer.get();
        assertThat(won).extracting(Term::number).isSorted();
        all.addAll(won);
      }
      assertThat(all).extracting(Term::number).doesNotHaveDuplicates();
      assertThat(all).hasSizeGreaterThanOrEqualTo((int) last);
      assertThat(new HashSet<>(all).stream().map(Term::node).distinct().count())
          .as("nodes that led")
          .isGreaterThan(1);
    }
    assertThat(
            world.value(
                "SELECT count(*) FROM (SELECT term < max(term) OVER (ORDER BY seq) AS falls FROM"
                    + " written) AS w WHERE falls"))
        .as("writes that follow a write of a later term")
        .isEqualTo("0");
  }

  /** Takes the leadership, lets the lease lapse at once, and writes; late writes must fail. */
  private List<Term> race(String node, long last) {
    List<Term> won = new ArrayList<>();
    while (won.isEmpty() || won.getLast().number() < last) {
      Optional<Term> term = leadership.take(node, Duration.ofMillis(3));
      term.ifPresent(won::add);
      if (!won.isEmpty()) {
        try {
          write(won.getLast());
        } catch (StoreException e) {
          assertThat(e.isStaleTerm()).isTrue();
        }
      }
      if (Long.parseLong(currentTerm()) >= last) {
        break;
      }
    }
    return won;
  }

  private String currentTerm() {
    return world.value("SELECT term FROM carillon.leadership");
  }
}
