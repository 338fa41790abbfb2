package carillon.engine.upkeep;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.engine.EngineEvent;
import carillon.model.TaskId;
import carillon.model.cluster.NodeLease;
import carillon.store.db.Json;
import carillon.store.db.StoreException;
import carillon.store.deadletters.DeadLetterArchive;
import carillon.testkit.OldDeadLetters;
import carillon.testkit.World;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Supplier;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("slow")
class ArchiverTest {

  private static final Duration TTL = Duration.ofHours(1);

  @TempDir Path directory;

  private final List<EngineEvent> events = new CopyOnWriteArrayList<>();
  private World world;

  @BeforeEach
  void open() {
    world = World.create();
  }

  @AfterEach
  void close() {
    world.close();
  }

  private Path archive() {
    return directory.resolve("a/archive");
  }

  private Archiver archiver() {
    return archiver(world, () -> NodeLease.renewed("node-1", System.nanoTime(), TTL));
  }

  private Archiver archiver(World process, Supplier<NodeLease> node) {
    return new Archiver(
        process.store.archive(), archiveFiles(), TTL, process.clock, node, events::add);
  }

  private ArchiveFiles archiveFiles() {
    return new ArchiveFiles(archive(), task -> "{\"id\":\"" + task.id() + "\"}");
  }

  private List<Path> files() throws IOException {
    if (!Files.exists(archive())) {
      return List.of();
    }
    try (Stream<Path> files = Files.list(archive())) {
      return files.sorted().toList();
    }
  }

  private static List<String> lines(Path file) throws IOException {
    try (BufferedReader in =
        new BufferedReader(
            new InputStreamReader(
                new GZIPInputStream(Files.newInputStream(file)), StandardCharsets.UTF_8))) {
      return in.lines().toList();
    }
  }

  private List<String> archivedIds() throws IOException {
    List<String> ids = new ArrayList<>();
    for (Path file : files()) {
      for (String line : lines(file)) {
        ids.add(Json.MAPPER.readTree(line).get("id").asString());
      }
    }
    return ids;
  }

  private String deadLetters() {
    return world.value("SELECT count(*) FROM carillon.dead_letter");
  }

  @Test
  void dead_letters_are_written_to_one_file_that_only_its_owner_can_read() throws IOException {
    List<TaskId> ids = OldDeadLetters.insert(world, 3);

    assertThat(archiver().archiveOnce()).isPositive();

    assertThat(deadLetters()).isEqualTo("0");
    assertThat(archivedIds())
        .containsExactlyInAnyOrderElementsOf(ids.stream().map(TaskId::toString).toList());
    assertThat(files()).hasSize(1);
    Path file = files().getFirst();
    assertThat(file.getFileName().toString())
        .matches(
            "dead-letters-\\d{4}-\\d\\d-\\d\\dT\\d{6}\\.\\d{3}-node-1-[0-9a-f]{8}\\.ndjson\\.gz");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-------");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(archive())))
        .isEqualTo("rwx------");
    assertThat(events).containsExactly(new EngineEvent.Archived(3));
    assertThat(world.value("SELECT subject FROM carillon.audit"))
        .isEqualTo(file.getFileName().toString());
  }

  @Test
  void dead_letters_are_not_archived_before_their_time_to_live() throws IOException {
    OldDeadLetters.insert(world, 3);
    world.sql("UPDATE carillon.dead_letter SET kept_from = now()");

    assertThat(archiver().archiveOnce()).isPositive();

    assertThat(files()).isEmpty();
    assertThat(deadLetters()).isEqualTo("3");
  }

  @Test
  void dead_letters_are_archived_again_after_a_crash_between_file_and_delete() throws IOException {
    List<TaskId> ids = OldDeadLetters.insert(world, 2);
    List<DeadLetterArchive.Letter> unarchived =
        world.store.archive().oldest(TTL, 10, 1 << 20).letters();
    archiveFiles()
        .write(
            "dead-letters-crashed",
            unarchived.stream().map(DeadLetterArchive.Letter::task).toList());

    archiver().archiveOnce();

    assertThat(deadLetters()).isEqualTo("0");
    assertThat(files()).hasSize(2);
    assertThat(archivedIds()).hasSize(4).containsOnly(ids.get(0).toString(), ids.get(1).toString());
  }

  @Test
  void dead_letters_that_cannot_be_deleted_are_written_only_once() throws IOException {
    OldDeadLetters.insert(world, 2);
    world.sql("ALTER TABLE carillon.audit ADD CONSTRAINT broken CHECK (who = '')");
    Archiver archiver = archiver();

    assertThatThrownBy(archiver::archiveOnce).isInstanceOf(StoreException.class);
    assertThatThrownBy(archiver::archiveOnce).isInstanceOf(StoreException.class);
    assertThat(deadLetters()).isEqualTo("2");
    world.sql("ALTER TABLE carillon.audit DROP CONSTRAINT broken");
    assertThat(archiver.archiveOnce()).isZero();
    assertThat(archiver.archiveOnce()).isPositive();

    assertThat(deadLetters()).isEqualTo("0");
    assertThat(files()).hasSize(1);
    assertThat(archivedIds()).hasSize(2);
  }

  @Test
  void a_file_is_kept_if_the_response_to_the_commit_was_lost() throws IOException {
    OldDeadLetters.insert(world, 2);
    world.sql("ALTER TABLE carillon.audit ADD CONSTRAINT broken CHECK (who = '')");
    Archiver archiver = archiver();
    assertThatThrownBy(archiver::archiveOnce).isInstanceOf(StoreException.class);

    // As if the commit had succeeded and only its response had been lost.
    world.sql("DELETE FROM carillon.dead_letter");
    world.sql("DELETE FROM carillon.task");
    assertThat(archiver.archiveOnce()).isZero();

    assertThat(archivedIds()).hasSize(2);
  }

  @Test
  void a_dead_letter_redriven_while_its_file_is_written_is_not_deleted() throws IOException {
    List<TaskId> ids = OldDeadLetters.insert(world, 2);
    Archiver archiver = archiver(world, () -> redrive(ids.getFirst()));

    archiver.archiveOnce();

    assertThat(world.state(ids.getFirst()).name()).isEqualTo("PENDING");
    assertThat(world.tasks.find(World.TENANT, ids.getLast())).isEmpty();
    assertThat(archivedIds()).hasSize(2);
    assertThat(events).containsExactly(new EngineEvent.Archived(1));
  }

  @Test
  void a_file_is_deleted_if_all_its_dead_letters_were_redriven() throws IOException {
    List<TaskId> ids = OldDeadLetters.insert(world, 1);

    assertThat(archiver(world, () -> redrive(ids.getFirst())).archiveOnce()).isPositive();

    assertThat(files()).isEmpty();
    assertThat(events).isEmpty();
  }

  /**
   * Redrives a task when the archiver reads its lease, which it does after reading the dead
   * letters.
   */
  private NodeLease redrive(TaskId id) {
    world.db.inTransaction(tx -> world.tasks.redrive(tx, World.TENANT, id, "test", null));
    return NodeLease.renewed("node", System.nanoTime(), TTL);
  }

  @Test
  void no_dead_letter_is_lost_if_the_directory_is_not_writable() throws IOException {
    OldDeadLetters.insert(world, 3);
    Files.writeString(directory.resolve("a"), "a file where the directory should be");
    Archiver archiver = archiver();

    assertThat(archiver.archiveOnce()).isPositive();
    assertThat(archiver.archiveOnce()).isPositive();

    assertThat(deadLetters()).isEqualTo("3");
    assertThat(events)
        .containsExactly(new EngineEvent.ArchiveFailed(), new EngineEvent.ArchiveFailed());

    Files.delete(directory.resolve("a"));
    archiver.archiveOnce();

    assertThat(deadLetters()).isEqualTo("0");
    assertThat(archivedIds()).hasSize(3);
  }

  @Test
  void concurrent_archivers_lose_nothing_and_count_each_dead_letter_once()
      throws IOException, InterruptedException, ExecutionException {
    int count = 5_000;
    List<TaskId> ids = OldDeadLetters.insert(world, count);
    try (World other = world.anotherProcess();
        ExecutorService threads = Executors.newCachedThreadPool()) {
      Callable<Boolean> here = () -> archiveAll(archiver());
      Callable<Boolean> there =
          () -> archiveAll(archiver(other, () -> NodeLease.renewed("node-2", 0, TTL)));
      for (Future<Boolean> each : threads.invokeAll(List.of(here, there))) {
        assertThat(each.get()).isTrue();
      }
    }

    int archived =
        events.stream()
            .mapToInt(e -> e instanceof EngineEvent.Archived(int tasks) ? tasks : 0)
            .sum();
    assertThat(archived).isEqualTo(count);
    assertThat(archivedIds())
        .containsAll(ids.stream().map(TaskId::toString).toList())
        .hasSizeGreaterThanOrEqualTo(count);
  }

  /** Archives until no dead letters are left, whichever archiver took the last one. */
  private boolean archiveAll(Archiver archiver) {
    while (!deadLetters().equals("0")) {
      archiver.archiveOnce();
    }
    return true;
  }

  @Test
  void a_hundred_thousand_dead_letters_are_archived_in_batches() throws IOException {
    int count = 100_000;
    OldDeadLetters.insertBare(world, count);
    world.countStatements();
    Archiver archiver = archiver();

    int passes = 1;
    while (archiver.archiveOnce().isZero()) {
      passes++;
    }

    assertThat(passes).isBetween(50, 51);
    assertThat(files()).hasSize(50);
    assertThat(deadLetters()).isEqualTo("0");
    assertThat(
            Integer.parseInt(
                world.value(
                    """
                    SELECT sum(calls)
                    FROM pg_stat_statements s
                    JOIN pg_database d ON d.oid = s.dbid
                    WHERE d.datname = current_database()
                      AND toplevel
                    """)))
        .as("statements, including BEGIN and COMMIT")
        .isLessThan(passes * 12);
  }
}
