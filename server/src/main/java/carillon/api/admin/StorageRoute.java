package carillon.api.admin;

import carillon.api.http.Answer;
import carillon.api.http.DatabaseGate;
import carillon.api.http.Endpoint;
import carillon.api.http.OneAtATime;
import carillon.api.http.Permission;
import carillon.api.json.Times;
import carillon.store.stats.StorageReader;
import carillon.store.stats.StorageReader.Part;
import carillon.store.stats.StorageReader.Storage;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** Shows what the tables take and how clean they are, for admins. */
public final class StorageRoute {

  /** Sizes are asked of the file system, file by file: often enough for people to look at. */
  private static final Duration KEPT = Duration.ofSeconds(10);

  private final StorageReader reader;
  private final OneAtATime turns;
  private volatile @Nullable Seen last;

  private record Seen(Storage storage, long at) {

    boolean isFresh() {
      return System.nanoTime() - at <= KEPT.toNanos();
    }
  }

  public StorageRoute(StorageReader reader, DatabaseGate database) {
    this.reader = reader;
    this.turns = new OneAtATime(database);
  }

  public List<Endpoint> endpoints() {
    return List.of(Endpoint.get("/v1/cluster/storage", Permission.CLUSTER, _ -> show()));
  }

  private Answer show() {
    Storage storage = look();
    ObjectNode answer =
        JsonNodeFactory.instance
            .objectNode()
            .put("at", Times.format(storage.at()))
            .put("oldestSnapshot", text(storage.oldestSnapshot()))
            .put("deadRows", sum(storage, Part::deadRows))
            .put("bytes", sum(storage, Part::bytes));
    ArrayNode partitions = answer.putArray("partitions");
    for (StorageReader.PartitionPart partition : storage.partitions()) {
      json(partitions.addObject().put("day", partition.day().toString()), partition.part())
          .put("lastVacuumAt", Times.formatOrNull(partition.lastVacuumAt()));
    }
    ArrayNode tables = answer.putArray("tables");
    for (StorageReader.TablePart table : storage.tables()) {
      json(tables.addObject().put("name", table.name()), table.part());
    }
    return Answer.json(200, answer);
  }

  private Storage look() {
    Seen known = last;
    return known != null && known.isFresh()
        ? known.storage()
        : turns.look(this::lookAgain, this::lookedLast);
  }

  private Storage lookAgain() {
    Seen known = last; // somebody may have looked while we waited
    if (known == null || !known.isFresh()) {
      long now = System.nanoTime();
      known = new Seen(reader.read(), now);
      last = known;
    }
    return known.storage();
  }

  private Optional<Storage> lookedLast() {
    return Optional.ofNullable(last).map(Seen::storage);
  }

  private static ObjectNode json(ObjectNode node, Part part) {
    return node.put("bytes", part.bytes())
        .put("rows", part.rows())
        .put("deadRows", part.deadRows());
  }

  private static long sum(Storage storage, ToLongFunction<Part> number) {
    return storage.partitions().stream()
            .mapToLong(partition -> number.applyAsLong(partition.part()))
            .sum()
        + storage.tables().stream().mapToLong(table -> number.applyAsLong(table.part())).sum();
  }

  private static @Nullable String text(@Nullable Duration duration) {
    return duration == null ? null : duration.toString();
  }
}
