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

/** Restores archived tasks as dead letters, all of a request or none. */
public final class RestoreRoutes {

  public static final String PATH = "/v1/dead-letters/restore";

  private static final Duration BODY_TIMEOUT = Duration.ofMinutes(2);

  private final Restores restores;
  private final ArchiveFields reader;
  private final DatabaseGate database;
  private final Idempotency idempotency;

  /**
   * Parsing the longest line takes some 100 MB, more than a tenant's share of the memory for
   * bodies. There is enough for one such request at a time, and only admins restore.
   */
  private final Semaphore oneAtATime = new Semaphore(1);

  public RestoreRoutes(
      Restores restores, ArchiveFields reader, DatabaseGate database, Idempotency idempotency) {
    this.restores = restores;
    this.reader = reader;
    this.database = database;
    this.idempotency = idempotency;
  }

  public List<Endpoint> endpoints() {
    return List.of(Endpoint.post(PATH, Permission.ARCHIVES, this::restore));
  }

  private Answer restore(Call call) {
    if (!call.body().isPresent()) {
      throw new ApiException(
          ErrorCode.BODY_REQUIRED, "the body is empty; send lines of an archive");
    }
    call.body().mediaType(RequestBody.NDJSON);
    return DatabaseGate.holding(oneAtATime, () -> restoreAlone(call));
  }

  private Answer restoreAlone(Call call) {
    try (Lines lines = new Lines(call)) {
      lines.read();
      Optional<Answer> earlier = idempotency.earlier(call);
      if (earlier.isPresent()) {
        return earlier.get();
      }
      lines.throwIfInvalid(); // only now: a repeat gets the first response, whatever changed
      Restores.Prepared prepared =
          TenantFull.reportedAt(
              i -> "/lines/" + lines.numbers.get(i) + "/type",
              () -> database.use(() -> restores.prepare(call.tenant(), lines)));
      return idempotency.run(
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
   * The validated lines of a request, and their errors. Lines are stored as received and parsed
   * again when they are inserted, because a parsed line takes much more memory.
   */
  private final class Lines implements Restores.Archive, AutoCloseable {

    private final RequestBody body;
    private final Caller caller;
    private final boolean isRepeatable; // then all lines are read, because it may be a repeat
    private final SpillBuffer buffer;
    private final List<Restores.Outline> outlines = new ArrayList<>();
    private final List<Integer> numbers = new ArrayList<>(); // line numbers of the tasks
    private final ValidationErrors errors = new ValidationErrors();
    private int lines;

    Lines(Call call) {
      this.body = call.body();
      this.caller = call.caller();
      this.isRepeatable = call.idempotencyKey() != null;
      this.buffer = new SpillBuffer(body.share());
    }

    void read() {
      body.lines(
          Limits.BATCH_BYTES,
          Limits.ARCHIVE_LINE_BYTES,
          BODY_TIMEOUT,
          BodyMemory.Held.unbounded(), // see oneAtATime
          this::add);
    }

    void throwIfInvalid() {
      errors.throwIfAny();
      if (outlines.isEmpty()) {
        throw new ApiException(
            ErrorCode.BODY_REQUIRED, "the body has no lines; send lines of an archive");
      }
    }

    private void add(byte[] bytes, int from, int length) {
      int line = lines++;
      if (JsonText.isBlank(bytes, from, length)) {
        return;
      }
      if (outlines.size() == Limits.RESTORE_TASKS) {
        throw new ApiException(
                ErrorCode.BATCH_TOO_LARGE,
                "one request restores at most "
                    + Limits.RESTORE_TASKS
                    + " tasks; send the others in another")
            .closing();
      }
      ArchivedTask task = reader.read(fields(bytes, from, length, line), caller);
      if (task != null) {
        outlines.add(Restores.Outline.of(task, length));
        buffer.add(bytes, from, length);
        numbers.add(line);
      }
      if (errors.isFull() && !isRepeatable) {
        errors.throwIfAny();
      }
    }

    private Fields fields(byte[] bytes, int from, int length, int line) {
      try {
        return new Fields(
            JsonText.line(bytes, from, length, BodyMemory.Held.unbounded()),
            "/lines/" + line,
            errors);
      } catch (ApiException e) {
        throw ValidationErrors.one(new FieldError("/lines/" + line, e.code().code(), e.detail()));
      }
    }

    @Override
    public List<Restores.Outline> outlines() {
      return outlines;
    }

    @Override
    public ArchivedTask read(int index) {
      SpillBuffer.Reader line = buffer.reader();
      line.moveTo(index);
      ArchivedTask task =
          reader.read(fields(line.bytes(), line.from(), line.length(), numbers.get(index)), caller);
      errors.throwIfAny();
      return Objects.requireNonNull(task);
    }

    @Override
    public void close() {
      buffer.close();
    }
  }
}
