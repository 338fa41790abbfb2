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
 * Runs the work of a POST in a transaction; under an Idempotency-Key at most once, with the answer
 * kept.
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
   * Empty if the work had nothing to answer yet; then nothing is kept either. The body must have
   * been read before.
   */
  public Optional<Answer> attempt(Call call, Function<Tx, Optional<Answer>> work) {
    String key = call.idempotencyKey();
    return key == null
        ? database.inTransaction(work)
        : database.use(() -> attempt(call, key, work));
  }

  private Optional<Answer> attempt(Call call, String key, Function<Tx, Optional<Answer>> work) {
    AtomicReference<@Nullable Answer> made = new AtomicReference<>();
    Replies.Result result =
        replies.once(
            call.tenant(),
            key,
            fingerprint(call),
            tx -> {
              Optional<Answer> answer = work.apply(tx);
              answer.ifPresent(made::set);
              return answer.map(Idempotency::reply);
            });
    return answer(result, made.get());
  }

  /**
   * The answer to an earlier request with the same Idempotency-Key, if there is one. For work that
   * is prepared before its transaction: a repeat must neither fail on what has changed since nor
   * create anything. The body must have been read before.
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
   * @param made the answer of this request, with its headers; null if it is a repeat
   */
  private static Optional<Answer> answer(Replies.Result result, @Nullable Answer made) {
    return switch (result) {
      case Replies.Result.Answered(var reply, var repeated) ->
          Optional.of(repeated || made == null ? repeat(reply) : made);
      case Replies.Result.Nothing() -> Optional.empty();
      case Replies.Result.Mismatch() ->
          throw new ApiException(
              ErrorCode.IDEMPOTENCY_MISMATCH,
              "this Idempotency-Key was used before, with another body or path or by a key that is"
                  + " limited to other types");
      case Replies.Result.Pending() ->
          throw new ApiException(
                  ErrorCode.IDEMPOTENCY_PENDING, "the first request with this key is still running")
              .with("Retry-After", "1");
    };
  }

  private static byte[] fingerprint(Call call) {
    MessageDigest digest = KeyText.sha256();
    String head = call.method() + "\n" + call.path() + "\n" + call.tenant().value() + "\n";
    digest.update(head.getBytes(StandardCharsets.UTF_8));
    // A caller that gets here has the endpoint's permission, so its list of types is all that one
    // key may
    // do more than another. Without a list nothing is added: answers that were kept by an earlier
    // version, and by a key that was rotated since, are still found.
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
    // Headers are not kept; the version is in the body wherever there is an ETag.
    OptionalInt version = version(reply.body());
    return version.isEmpty() ? answer : answer.withVersion(version.getAsInt());
  }

  /** Looked for without a tree of the body, which may have 100,000 ids. */
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
