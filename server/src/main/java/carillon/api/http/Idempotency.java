package carillon.api.http;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.model.KeyText;
import carillon.store.catalog.Replies;
import carillon.store.db.Json;
import carillon.store.db.Tx;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;

/**
 * Runs the work of a POST in a transaction. With an Idempotency-Key it runs at most once, and the
 * response is stored for repeats.
 */
public final class Idempotency {

  private final DatabaseGate database;
  private final Replies replies;

  public Idempotency(DatabaseGate database, Replies replies) {
    this.database = database;
    this.replies = replies;
  }

  public Answer run(Call call, Function<Tx, Answer> work) {
    return attempt(call, tx -> Optional.of(work.apply(tx))).orElseThrow();
  }

  /**
   * Runs work that may have no response yet: then the result is empty and nothing is stored. The
   * body must have been read before.
   */
  public Optional<Answer> attempt(Call call, Function<Tx, Optional<Answer>> work) {
    String key = call.idempotencyKey();
    return key == null
        ? database.inTransaction(work)
        : database.use(() -> attempt(call, key, work));
  }

  private Optional<Answer> attempt(Call call, String key, Function<Tx, Optional<Answer>> work) {
    AtomicReference<@Nullable Answer> first = new AtomicReference<>();
    Replies.Result result =
        replies.once(
            call.tenant(),
            key,
            fingerprint(call),
            tx -> {
              Optional<Answer> answer = work.apply(tx);
              answer.ifPresent(first::set);
              return answer.map(Idempotency::reply);
            });
    return answer(result, first.get());
  }

  /**
   * The response to an earlier request with the same Idempotency-Key. For work that is prepared
   * before its transaction: a repeat must not fail because of later changes, nor create anything.
   * The body must have been read before.
   */
  public Optional<Answer> earlier(Call call) {
    String key = call.idempotencyKey();
    return key == null
        ? Optional.empty()
        : database
            .use(() -> replies.earlier(call.tenant(), key, fingerprint(call)))
            .flatMap(result -> answer(result, null));
  }

  /**
   * @param first the response of this request, with its headers; null if it is a repeat
   */
  private static Optional<Answer> answer(Replies.Result result, @Nullable Answer first) {
    return switch (result) {
      case Replies.Result.Answered(var reply, var repeated) ->
          Optional.of(repeated || first == null ? repeat(reply) : first);
      case Replies.Result.Nothing() -> Optional.empty();
      case Replies.Result.Mismatch() ->
          throw new ApiException(
              ErrorCode.IDEMPOTENCY_MISMATCH,
              "this Idempotency-Key was already used with another body or path, or by a key with"
                  + " other types; use a new one");
      case Replies.Result.Pending() ->
          throw new ApiException(
                  ErrorCode.IDEMPOTENCY_PENDING,
                  "the first request with this Idempotency-Key is still running")
              .with("Retry-After", "1");
    };
  }

  private static byte[] fingerprint(Call call) {
    MessageDigest digest = KeyText.sha256();
    String head = call.method() + "\n" + call.path() + "\n" + call.tenant().value() + "\n";
    digest.update(head.getBytes(StandardCharsets.UTF_8));
    // All callers here have the endpoint's permission, so keys differ only in their types. Nothing
    // is added for a key without a list: a rotated key still finds the stored responses.
    call.caller().types().stream()
        .sorted()
        .forEach(type -> digest.update((type + "\n").getBytes(StandardCharsets.UTF_8)));
    return digest.digest(call.body().hash());
  }

  private static Replies.Reply reply(Answer answer) {
    return new Replies.Reply(answer.status(), answer.headers().get("Location"), answer.body());
  }

  private static Answer repeat(Replies.Reply reply) {
    Answer answer = Answer.json(reply.status(), reply.body()).with("Idempotency-Replayed", "true");
    if (reply.location() != null) {
      answer = answer.with("Location", reply.location());
    }
    // Headers are not stored; the body has the version wherever there is an ETag.
    OptionalInt version = version(reply.body());
    return version.isEmpty() ? answer : answer.withVersion(version.getAsInt());
  }

  /** Reads the version without building a tree of the body, which may have 100,000 ids. */
  private static OptionalInt version(String body) {
    try (JsonParser parser = Json.FORGETFUL.createParser(ObjectReadContext.empty(), body)) {
      if (parser.nextToken() == JsonToken.START_OBJECT) {
        while (parser.nextToken() == JsonToken.PROPERTY_NAME) {
          boolean isVersion = parser.currentName().equals("version");
          JsonToken value = parser.nextToken();
          if (isVersion && value == JsonToken.VALUE_NUMBER_INT) {
            return OptionalInt.of(parser.getIntValue());
          }
          parser.skipChildren();
        }
      }
      return OptionalInt.empty();
    }
  }
}
