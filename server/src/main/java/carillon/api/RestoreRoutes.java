package carillon.api;

import carillon.store.ArchivedTask;
import carillon.store.Restores;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import tools.jackson.databind.node.JsonNodeFactory;

/** Puts archived tasks back among the dead letters, all of a request or none. */
final class RestoreRoutes {

  static final String PATH = "/v1/dead-letters/restore";

  private static final Duration BODY_TIME = Duration.ofMinutes(2);

  private final Restores restores;
  private final ArchiveFields reader;
  private final DatabaseGate database;
  private final Once once;

  RestoreRoutes(Restores restores, ArchiveFields reader, DatabaseGate database, Once once) {
    this.restores = restores;
    this.reader = reader;
    this.database = database;
    this.once = once;
  }

  List<Endpoint> endpoints() {
    return List.of(Endpoint.post(PATH, Permission.ARCHIVES, this::restore));
  }

  private Answer restore(Call call) {
    Lines lines = read(call);
    Restores.Prepared prepared =
        TenantFull.pointingTo(
            i -> "/lines/" + lines.numbers.get(i) + "/type",
            () -> database.use(() -> restores.prepare(call.tenant(), lines.tasks)));
    return once.run(
        call,
        tx -> {
          Restores.Restored done = restores.restore(tx, prepared, call.caller().who());
          return Answer.json(
              200,
              JsonNodeFactory.instance
                  .objectNode()
                  .put("restored", done.restored())
                  .put("present", done.present()));
        });
  }

  private Lines read(Call call) {
    Lines lines = new Lines(call.caller());
    RequestBody body = call.body();
    if (!body.isPresent()) {
      throw new ApiException(
          ErrorCode.BODY_REQUIRED, "the body is empty; lines of an archive were expected");
    }
    body.mediaType(RequestBody.NDJSON);
    body.lines(Limits.BATCH_BYTES, Limits.ARCHIVE_LINE_BYTES, BODY_TIME, lines::add);
    return lines.finish();
  }

  /** The tasks read so far, and what is wrong with them. */
  private final class Lines {

    private final Caller caller;
    private final List<ArchivedTask> tasks = new ArrayList<>();
    private final List<Integer> numbers = new ArrayList<>(); // of the lines that they are in
    private final Mistakes mistakes = new Mistakes();
    private int lines;

    Lines(Caller caller) {
      this.caller = caller;
    }

    void add(String text) {
      int line = lines++;
      if (text.isBlank()) {
        return;
      }
      if (tasks.size() == Limits.RESTORE_TASKS) {
        throw new ApiException(
                ErrorCode.BATCH_TOO_LARGE,
                "one request restores " + Limits.RESTORE_TASKS + " tasks; send the rest in another")
            .closing();
      }
      ArchivedTask task = reader.read(fields(text, line), caller);
      if (task != null) {
        tasks.add(task);
        numbers.add(line);
      }
      if (mistakes.isFull()) {
        mistakes.refuse();
      }
    }

    private Fields fields(String text, int line) {
      try {
        return new Fields(JsonText.object(text), "/lines/" + line, mistakes);
      } catch (ApiException e) {
        throw Mistakes.one(new FieldError("/lines/" + line, e.code().code(), e.detail()));
      }
    }

    Lines finish() {
      mistakes.refuse();
      if (tasks.isEmpty()) {
        throw new ApiException(
            ErrorCode.BODY_REQUIRED, "the body has no lines; lines of an archive were expected");
      }
      return this;
    }
  }
}
