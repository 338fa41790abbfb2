package carillon.api.admin;

import carillon.api.http.Answer;
import carillon.api.http.DatabaseGate;
import carillon.api.http.Endpoint;
import carillon.api.http.Permission;
import carillon.api.json.Times;
import carillon.store.stats.StorageReader;
import carillon.store.stats.StorageReader.Size;
import carillon.store.stats.StorageReader.Storage;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** Shows the size of the tables and their dead rows, for admins. */
public final class StorageRoute {

  /** PostgreSQL asks the file system for the size of every file, so the result is shared. */
  private static final Duration INTERVAL = Duration.ofSeconds(10);

  private final StorageReader reader;
  private final DatabaseGate database;
  private final Semaphore turn = new Semaphore(1, true);
  private volatile @Nullable Result last;

  private record Result(Storage storage, long readAt) {

    boolean isFresh() {
      return System.nanoTime() - readAt <= INTERVAL.toNanos();
    }
  }

  public StorageRoute(StorageReader reader, DatabaseGate database) {
    this.reader = reader;
    this.database = database;
  }

  public List<Endpoint> endpoints() {
    return List.of(Endpoint.get("/v1/cluster/storage", Permission.CLUSTER, _ -> show()));
  }

  private Answer show() {
    Storage storage = storage();
    ObjectNode answer =
        JsonNodeFactory.instance
            .objectNode()
            .put("at", Times.format(storage.at()))
            .put("oldestSnapshot", text(storage.oldestSnapshot()))
            .put("deadRows", sum(storage, Size::deadRows))
            .put("bytes", sum(storage, Size::bytes));
    ArrayNode partitions = answer.putArray("partitions");
    for (StorageReader.PartitionSize partition : storage.partitions()) {
      json(partitions.addObject().put("day", partition.day().toString()), partition.size())
          .put("lastVacuumAt", Times.formatOrNull(partition.lastVacuumAt()));
    }
    ArrayNode tables = answer.putArray("tables");
    for (StorageReader.TableSize table : storage.tables()) {
      json(tables.addObject().put("name", table.name()), table.size());
    }
    return Answer.json(200, answer);
  }

  private Storage storage() {
    if (!isFresh()) {
      boolean _ = database.tryExclusively(turn, this::refresh);
    }
    return Optional.ofNullable(last).map(Result::storage).orElseThrow(DatabaseGate::overloaded);
  }

  private boolean isFresh() {
    Result known = last;
    return known != null && known.isFresh();
  }

  private void refresh() {
    if (!isFresh()) { // another caller may have read it while this one waited
      long now = System.nanoTime();
      last = new Result(reader.read(), now);
    }
  }

  private static ObjectNode json(ObjectNode node, Size size) {
    return node.put("bytes", size.bytes())
        .put("rows", size.rows())
        .put("deadRows", size.deadRows());
  }

  private static long sum(Storage storage, ToLongFunction<Size> number) {
    return storage.partitions().stream()
            .mapToLong(partition -> number.applyAsLong(partition.size()))
            .sum()
        + storage.tables().stream().mapToLong(table -> number.applyAsLong(table.size())).sum();
  }

  private static @Nullable String text(@Nullable Duration duration) {
    return duration == null ? null : duration.toString();
  }
}
