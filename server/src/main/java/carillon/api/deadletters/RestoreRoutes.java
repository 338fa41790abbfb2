package carillon.api.deadletters;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.error.FieldError;
import carillon.api.error.Limits;
import carillon.api.error.TenantFull;
import carillon.api.error.ValidationErrors;
import carillon.api.http.Answer;
import carillon.api.http.Call;
import carillon.api.http.Caller;
import carillon.api.http.DatabaseGate;
import carillon.api.http.Endpoint;
import carillon.api.http.Idempotency;
import carillon.api.http.Permission;
import carillon.api.http.RequestBody;
import carillon.api.json.BodyMemory;
import carillon.api.json.Fields;
import carillon.api.json.JsonText;
import carillon.store.catalog.Partitions;
import carillon.store.deadletters.ArchivedTask;
import carillon.store.deadletters.Restores;
import carillon.store.tasks.SpillBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import tools.jackson.databind.node.JsonNodeFactory;

/** Puts archived tasks back among the dead letters, all of a request or none. */
public final class RestoreRoutes {

  public static final String PATH = "/v1/dead-letters/restore";

  private static final Duration BODY_TIME = Duration.ofMinutes(2);

  private final Restores restores;
  private final ArchiveFields reader;
  private final DatabaseGate database;
  private final Idempotency once;

  /**
   * The longest line takes some 100 MB while it is parsed, which is more than the memory for bodies
   * has for a tenant; of that there is enough for one. Only admins restore.
   */
  private final Semaphore oneAtATime = new Semaphore(1);

  public RestoreRoutes(
      Restores restores, ArchiveFields reader, DatabaseGate database, Idempotency once) {
    this.restores = restores;
    this.reader = reader;
    this.database = database;
    this.once = once;
  }

  public List<Endpoint> endpoints() {
    return List.of(Endpoint.post(PATH, Permission.ARCHIVES, this::restore));
  }

  private Answer restore(Call call) {
    if (!call.body().isPresent()) {
      throw new ApiException(
          ErrorCode.BODY_REQUIRED, "the body is empty; lines of an archive were expected");
    }
    call.body().mediaType(RequestBody.NDJSON);
    return DatabaseGate.holding(oneAtATime, () -> restoreAlone(call));
  }

  private Answer restoreAlone(Call call) {
    try (Lines lines = new Lines(call)) {
      lines.read();
      Optional<Answer> earlier = once.earlier(call);
      if (earlier.isPresent()) {
        return earlier.get();
      }
      lines.refuse(); // only now: a repeat is answered as before, whatever changed
      Restores.Prepared prepared =
          TenantFull.pointingTo(
              i -> "/lines/" + lines.numbers.get(i) + "/type",
              () -> database.use(() -> restores.prepare(call.tenant(), lines)));
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
    } catch (Partitions.TooManyRestored e) {
      throw new ApiException(
          ErrorCode.TOO_MANY,
          e.getMessage()
              + "; restore fewer days at a time, and redrive, purge or archive them before the"
              + " next");
    }
  }

  /**
   * The tasks read so far, and what is wrong with them. Kept as the lines that they came in and
   * parsed again when they are written, because a line may be long, and much longer when parsed.
   */
  private final class Lines implements Restores.Archived, AutoCloseable {

    private final RequestBody body;
    private final Caller caller;
    private final boolean isRepeatable; // then all of it is read: it may be a repeat
    private final SpillBuffer kept;
    private final List<Restores.Place> places = new ArrayList<>();
    private final List<Integer> numbers = new ArrayList<>(); // of the lines that they are in
    private final ValidationErrors mistakes = new ValidationErrors();
    private int lines;

    Lines(Call call) {
      this.body = call.body();
      this.caller = call.caller();
      this.isRepeatable = call.idempotencyKey() != null;
      this.kept = new SpillBuffer(body.share());
    }

    void read() {
      body.lines(
          Limits.BATCH_BYTES,
          Limits.ARCHIVE_LINE_BYTES,
          BODY_TIME,
          BodyMemory.Held.unbounded(), // what one line takes is left over, see oneAtATime
          this::add);
    }

    void refuse() {
      mistakes.refuse();
      if (places.isEmpty()) {
        throw new ApiException(
            ErrorCode.BODY_REQUIRED, "the body has no lines; lines of an archive were expected");
      }
    }

    private void add(byte[] bytes, int from, int length) {
      int line = lines++;
      if (JsonText.isBlank(bytes, from, length)) {
        return;
      }
      if (places.size() == Limits.RESTORE_TASKS) {
        throw new ApiException(
                ErrorCode.BATCH_TOO_LARGE,
                "one request restores " + Limits.RESTORE_TASKS + " tasks; send the rest in another")
            .closing();
      }
      ArchivedTask task = reader.read(fields(bytes, from, length, line), caller);
      if (task != null) {
        places.add(Restores.Place.of(task, length));
        kept.add(bytes, from, length);
        numbers.add(line);
      }
      if (mistakes.isFull() && !isRepeatable) {
        mistakes.refuse();
      }
    }

    private Fields fields(byte[] bytes, int from, int length, int line) {
      try {
        return new Fields(
            JsonText.line(bytes, from, length, BodyMemory.Held.unbounded()),
            "/lines/" + line,
            mistakes);
      } catch (ApiException e) {
        throw ValidationErrors.one(new FieldError("/lines/" + line, e.code().code(), e.detail()));
      }
    }

    @Override
    public List<Restores.Place> places() {
      return places;
    }

    @Override
    public ArchivedTask read(int index) {
      SpillBuffer.Reader line = kept.reader();
      line.moveTo(index);
      ArchivedTask task =
          reader.read(fields(line.bytes(), line.from(), line.length(), index), caller);
      mistakes.refuse();
      return Objects.requireNonNull(task);
    }

    @Override
    public void close() {
      kept.close();
    }
  }
}
