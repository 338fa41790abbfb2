package carillon.api.error;

import java.util.Locale;
import java.util.Optional;

/**
 * Everything that the API can answer instead of what was asked for: stable code, HTTP status,
 * meaning.
 */
public enum ErrorCode {
  BAD_REQUEST(400, "Bad request", "The request breaks HTTP."),
  INVALID_JSON(
      400, "Invalid JSON", "The body is not JSON; the detail says where it stops being so."),
  BODY_REQUIRED(400, "Body required", "The body is empty."),
  BODY_NOT_ALLOWED(400, "Body not allowed", "GET and DELETE take no body."),
  OBJECT_EXPECTED(400, "Object expected", "The body is JSON, but not an object."),
  UNKNOWN_FIELD(
      400,
      "Unknown field",
      "The body has a field that does not exist; the nearest name is suggested."),
  READ_ONLY_FIELD(400, "Read-only field", "The body sets a field that only the server sets."),
  DUPLICATE_FIELD(400, "Duplicate field", "An object in the body has the same field twice."),
  TOO_DEEP(400, "Too deep", "The body is nested deeper than 64 levels."),
  NUL_NOT_ALLOWED(400, "NUL not allowed", "A string in the body contains the character U+0000."),
  INVALID_ENCODING(400, "Invalid encoding", "The body is not UTF-8 without a byte order mark."),
  INVALID_ID(400, "Invalid id", "The text is not an id that was ever given out."),
  INVALID_TOKEN(400, "Invalid token", "The text is not a token that a claim gives out."),
  INVALID_CURSOR(400, "Invalid cursor", "The cursor was changed, or belongs to another list."),
  INVALID_PARAMETER(
      400, "Invalid parameter", "A query parameter cannot be parsed or is given twice."),
  UNSUPPORTED_FILTER(400, "Unsupported filter", "There is no such query parameter here."),
  INVALID_HEADER(400, "Invalid header", "A request header cannot be parsed or is given twice."),
  INVALID_IDEMPOTENCY_KEY(
      400, "Invalid Idempotency-Key", "It is one header of 1 to 255 visible ASCII characters."),
  CREDENTIAL_IN_URL(
      400, "Credential in URL", "Keys go into the Authorization header: URLs are logged."),
  UNAUTHORIZED(401, "Unauthorized", "Provide a valid API key: `Authorization: Bearer <key>`."),
  MISSING_SCOPE(403, "Forbidden", "The key's role or its list of types does not allow this."),
  TENANT_NOT_ALLOWED(403, "Tenant not allowed", "Only an admin key acts on another tenant."),
  NOT_FOUND(404, "Not found", "Not found in this tenant."),
  METHOD_NOT_ALLOWED(
      405, "Method not allowed", "The path exists; the Allow header lists its methods."),
  REQUEST_TIMEOUT(408, "Request timeout", "The request did not arrive in time, or too slowly."),
  ALREADY_TERMINAL(409, "Already terminal", "The task has already finished."),
  WRONG_STATE(
      409, "Wrong state", "The task, redrive or backfill is not in a state that allows this."),
  TOO_MANY_REDRIVES(
      409, "Too many redrives", "The tenant has as many redrives under way as it may have."),
  TOO_MANY_BACKFILLS(
      409, "Too many backfills", "The tenant has as many backfills under way as it may have."),
  IDEMPOTENCY_PENDING(
      409, "Still running", "The first request with this Idempotency-Key has not ended yet."),
  TYPE_IN_USE(
      409, "Type in use", "The type still has live tasks, or a schedule makes tasks of it."),
  STALE_VERSION(412, "Stale version", "If-Match names an older version."),
  BODY_TOO_LARGE(413, "Body too large", "The body is larger than this request may be."),
  PAYLOAD_TOO_LARGE(413, "Payload too large", "A payload may have 256 KiB."),
  BATCH_TOO_LARGE(413, "Batch too large", "A batch may have 100,000 tasks."),
  OUTPUT_TOO_LARGE(413, "Output too large", "An output may have 64 KiB."),
  URI_TOO_LONG(414, "URI too long", "The request line is longer than 8 KiB."),
  UNSUPPORTED_MEDIA_TYPE(
      415, "Unsupported media type", "The Content-Type is missing or not one that is read here."),
  ENCODING_NOT_SUPPORTED(
      415, "Encoding not supported", "Bodies are not compressed: no Content-Encoding."),
  REQUIRED_FIELD(422, "Required field", "A field without which this has no meaning is missing."),
  INVALID_TYPE(422, "Invalid type", "A field has the wrong JSON type."),
  INVALID_VALUE(422, "Invalid value", "A field's value is not one of those allowed."),
  OUT_OF_RANGE(422, "Out of range", "A number or duration is outside its range."),
  TOO_LONG(422, "Too long", "A text or list is longer than allowed."),
  INVALID_DURATION(422, "Invalid duration", "Durations are 500ms, 30s, 5m, 2h, 7d or ISO 8601."),
  INVALID_TIME(422, "Invalid time", "Times are RFC 3339, for example 2027-01-31T08:00:00Z."),
  ZONE_REQUIRED(422, "Zone required", "The time has no offset; add Z or, for example, +02:00."),
  TIME_OUT_OF_RANGE(422, "Time out of range", "The time is outside the years 1 to 9999."),
  BEYOND_HORIZON(422, "Beyond horizon", "The time is more than two years away."),
  UNKNOWN_ZONE(
      422, "Unknown zone", "Time zones are IANA regions, for example Europe/Berlin or UTC."),
  CRON_FIELD_COUNT(
      422, "Cron field count", "A cron expression has 5 fields, or 6 with seconds first."),
  INVALID_CRON(
      422,
      "Invalid cron",
      "A field of the cron expression is wrong; the message says which and why."),
  NEVER_FIRES(422, "Never fires", "No time there is fits the cron expression."),
  INTERVAL_TOO_SHORT(422, "Interval too short", "A schedule fires at most once a second."),
  TOO_MANY(422, "Too many", "More was asked for than is answered or made at once."),
  EXCLUSIVE_FIELDS(422, "Exclusive fields", "Two fields that exclude each other are both set."),
  KEY_REQUIRED(422, "Key required", "A unique task needs a key."),
  FILTER_REQUIRED(422, "Filter required", "At least one field must say which tasks."),
  LIMIT_REACHED(
      422,
      "Limit reached",
      "The tenant has as many types, lanes, schedules or keys as it may have."),
  UNKNOWN_TYPE(422, "Unknown type", "The tenant is strict and this type is not configured."),
  TARGET_NOT_ALLOWED(422, "Target not allowed", "The target breaks a rule; the errors say which."),
  SCHEME_OR_HOST(
      422, "Scheme or host", "A target's URL starts with http:// or https:// and a host."),
  INVALID_URL(422, "Invalid URL", "A target's URL has characters that must be percent-encoded."),
  USERINFO_NOT_ALLOWED(422, "User in URL", "A target's URL must not carry a user or password."),
  FRAGMENT_NOT_ALLOWED(422, "Fragment in URL", "A target's URL must not have a fragment."),
  HTTPS_REQUIRED(422, "HTTPS required", "Targets must use https here."),
  ADDRESS_NOT_ALLOWED(422, "Address not allowed", "Deliveries may not reach this host or address."),
  PORT_NOT_ALLOWED(422, "Port not allowed", "Deliveries may not reach this port."),
  RESERVED_HEADER(
      422, "Reserved header", "A target sets a header that only we or the transport set."),
  HIDDEN_VALUE(
      422,
      "Hidden value",
      "A secret is sent as (hidden), as it is shown, and there is no stored value to keep."),
  INVALID_SCHEMA(
      422,
      "Invalid schema",
      "The schema is not JSON Schema 2020-12, or not one that is used here."),
  REMOTE_REF(422, "Remote reference", "A schema refers to something outside itself."),
  SCHEMA_MISMATCH(422, "Schema mismatch", "The payload does not fit the schema of its type."),
  ROLE_TOO_STRONG(403, "Role too strong", "A key cannot make a key that may do more than itself."),
  IDEMPOTENCY_MISMATCH(
      422, "Another request", "The Idempotency-Key was used before, for another request."),
  TOO_MANY_STREAMS(
      429,
      "Too many streams",
      "The tenant has as many streams open on this node as it may have; try again after"
          + " Retry-After."),
  HEADERS_TOO_LARGE(431, "Headers too large", "There are more than 100 headers or 16 KiB of them."),
  INTERNAL(
      500, "Internal error", "Something is wrong on our side; the request id finds it in our log."),
  UNAVAILABLE(
      503, "Unavailable", "The database is unreachable or overloaded. Retry after `Retry-After`."),
  OVERLOADED(503, "Overloaded", "Too many requests at once; try again after Retry-After."),
  HTTP_VERSION_NOT_SUPPORTED(
      505,
      "HTTP version not supported",
      "HTTP/1.1 is spoken here, and HTTP/1.0 except for streams.");

  private final int status;
  private final String title;
  private final String meaning;

  ErrorCode(int status, String title, String meaning) {
    this.status = status;
    this.title = title;
    this.meaning = meaning;
  }

  public String code() {
    return name().toLowerCase(Locale.ROOT);
  }

  public int status() {
    return status;
  }

  public String title() {
    return title;
  }

  public String meaning() {
    return meaning;
  }

  /** What the rules of another room call a mistake, if it is one of ours. */
  public static Optional<ErrorCode> named(String code) {
    for (ErrorCode each : values()) {
      if (each.code().equals(code)) {
        return Optional.of(each);
      }
    }
    return Optional.empty();
  }
}
