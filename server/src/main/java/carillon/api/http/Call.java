package carillon.api.http;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.error.Limits;
import carillon.api.json.BodyMemory;
import carillon.api.json.Fields;
import carillon.model.Echo;
import carillon.model.TaskId;
import carillon.model.TenantId;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** One request as a handler sees it: matched, authenticated and authorized. */
public final class Call {

  private static final Duration BODY_TIMEOUT = Duration.ofSeconds(20);
  private static final Pattern VISIBLE_ASCII = Pattern.compile("[\\x21-\\x7e]{1,255}");
  private static final Pattern ENTITY_TAG = Pattern.compile("\"([\\x21\\x23-\\x7e]{0,64})\"");

  private final String method;
  private final String path;
  private final Map<String, String> parameters;
  private final Query query;
  private final Function<String, List<String>> headers;
  private final RequestBody body;
  private final @Nullable Caller caller;
  private final Supplier<Caller> callerNow;
  private final BodyMemory.@Nullable Share share;

  Call(
      Request request,
      Map<String, String> parameters,
      Query query,
      @Nullable Caller caller,
      Supplier<Caller> callerNow,
      BodyMemory.@Nullable Share share) {
    this.share = share;
    this.method = request.method();
    this.path = request.path();
    this.headers = request.headers();
    this.body = request.body();
    this.parameters = Map.copyOf(parameters);
    this.query = query;
    this.caller = caller;
    this.callerNow = callerNow;
  }

  /**
   * The request as it was received.
   *
   * @param headers all values of the header with the given name
   */
  record Request(
      String method, String path, Function<String, List<String>> headers, RequestBody body) {}

  String method() {
    return method;
  }

  public String path() {
    return path;
  }

  public Query query() {
    return query;
  }

  public RequestBody body() {
    return body;
  }

  /** Only for endpoints that require a key. */
  public Caller caller() {
    return Objects.requireNonNull(caller, "this endpoint requires no key, so it has no caller");
  }

  /**
   * Authenticates the caller again, for requests that take long.
   *
   * @throws ApiException if the key is no longer valid
   */
  public Caller callerNow() {
    return callerNow.get();
  }

  /** All values of a header. */
  public List<String> headers(String name) {
    return headers.apply(name);
  }

  /** The memory that this request holds; only for endpoints that require a key. */
  BodyMemory.Share share() {
    return Objects.requireNonNull(
        share, "this endpoint requires no key, so it has no memory share");
  }

  public TenantId tenant() {
    return caller().tenantId();
  }

  public String parameter(String name) {
    return Objects.requireNonNull(parameters.get(name), name);
  }

  public TaskId taskId() {
    String id = parameter("id");
    return TaskId.parse(id)
        .orElseThrow(
            () -> new ApiException(ErrorCode.INVALID_ID, Echo.of(id) + " is not a task id"));
  }

  /** The body, which must be a JSON object. */
  public Fields fields() {
    return Fields.of(body.object(Limits.BODY_BYTES, BODY_TIMEOUT));
  }

  /** For endpoints without parameters: requires no body, or an empty object. */
  public void noFields() {
    if (body.isPresent()) {
      Fields fields = fields();
      fields.done();
      fields.errors().throwIfAny();
    }
  }

  public @Nullable String idempotencyKey() {
    List<String> keys = headers.apply("Idempotency-Key");
    if (keys.isEmpty()) {
      return null;
    }
    if (keys.size() > 1 || !VISIBLE_ASCII.matcher(keys.getFirst()).matches()) {
      throw new ApiException(
          ErrorCode.INVALID_IDEMPOTENCY_KEY, ErrorCode.INVALID_IDEMPOTENCY_KEY.meaning());
    }
    return keys.getFirst();
  }

  /** The version that the client expects. */
  public IfMatch ifMatch() {
    List<String> tags = headers.apply("If-Match");
    if (tags.isEmpty()) {
      return IfMatch.ABSENT;
    }
    String tag = tags.getFirst().strip();
    if (tags.size() == 1 && tag.equals("*")) {
      return IfMatch.ANY;
    }
    Matcher matcher = ENTITY_TAG.matcher(tag.startsWith("W/") ? tag.substring(2) : tag);
    if (tags.size() > 1 || !matcher.matches()) {
      throw new ApiException(
          ErrorCode.INVALID_HEADER, "If-Match must be one entity tag in quotes, or *");
    }
    // A weak tag never matches strongly, and versions are numbers.
    boolean version = !tag.startsWith("W/") && matcher.group(1).matches("[0-9]{1,9}");
    return new IfMatch(version ? Integer.parseInt(matcher.group(1)) : IfMatch.NEVER, true);
  }

  /** Whether the client supports this content coding. */
  public boolean accepts(String coding) {
    for (String header : headers.apply("Accept-Encoding")) {
      for (String each : header.toLowerCase(Locale.ROOT).split(",", -1)) {
        String[] parts = each.strip().split("\\s*;\\s*q\\s*=\\s*", 2);
        if (parts[0].equals(coding) && (parts.length == 1 || !parts[1].matches("0(\\.0*)?"))) {
          return true;
        }
      }
    }
    return false;
  }

  /** Whether the client already has the body with this entity tag. */
  public boolean matchesETag(String tag) {
    return headers.apply("If-None-Match").stream().anyMatch(value -> value.contains(tag));
  }

  /**
   * An If-Match header.
   *
   * @param version null if any version matches
   * @param mustExist whether the header was sent
   */
  public record IfMatch(@Nullable Integer version, boolean mustExist) {

    static final IfMatch ABSENT = new IfMatch(null, false);
    static final IfMatch ANY = new IfMatch(null, true);

    private static final int NEVER = -1;
  }
}
