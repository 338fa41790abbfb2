package carillon.api.error;

import java.util.Locale;
import java.util.Optional;

/** Every error that the API returns: stable code, HTTP status, title and meaning. */
public enum ErrorCode {
  BAD_REQUEST(400, "Bad request", "The request is not valid HTTP."),
  INVALID_JSON(
      400, "Invalid JSON", "The body is not valid JSON. The detail gives the offset of the error."),
  BODY_REQUIRED(400, "Body required", "The body is empty."),
  BODY_NOT_ALLOWED(400, "Body not allowed", "GET and DELETE requests have no body."),
  OBJECT_EXPECTED(400, "Object expected", "The body is JSON, but not an object."),
  UNKNOWN_FIELD(
      400, "Unknown field", "The body has an unknown field. The detail suggests a similar name."),
  READ_ONLY_FIELD(400, "Read-only field", "The body sets a field that only the server can set."),
  DUPLICATE_FIELD(400, "Duplicate field", "An object in the body has the same field twice."),
  TOO_DEEP(400, "Too deep", "The body is nested deeper than 64 levels."),
  NUL_NOT_ALLOWED(400, "NUL not allowed", "A string in the body contains the character U+0000."),
  INVALID_ENCODING(
      400, "Invalid encoding", "The body is not valid UTF-8, or starts with a byte order mark."),
  INVALID_ID(400, "Invalid id", "The id in the path or body is malformed."),
  INVALID_TOKEN(
      400, "Invalid token", "The token is malformed. Send the token that the claim returned."),
  INVALID_CURSOR(
      400,
      "Invalid cursor",
      "The cursor is malformed or belongs to another list. Start without a cursor."),
  INVALID_PARAMETER(400, "Invalid parameter", "A query parameter is malformed or given twice."),
  UNSUPPORTED_FILTER(400, "Unsupported filter", "This endpoint has no such query parameter."),
  INVALID_HEADER(400, "Invalid header", "A request header is malformed or given twice."),
  INVALID_IDEMPOTENCY_KEY(
      400,
      "Invalid Idempotency-Key",
      "Send one Idempotency-Key of 1 to 255 visible ASCII characters."),
  CREDENTIAL_IN_URL(
      400,
      "Credential in URL",
      "Send keys in the Authorization header, never in the URL: URLs are logged."),
  UNAUTHORIZED(
      401,
      "Unauthorized",
      "Provide a valid API key: Authorization: Bearer <key>. Keys can expire or be revoked."),
  MISSING_SCOPE(
      403, "Forbidden", "The role of the key, or its list of types, does not allow this."),
  TENANT_NOT_ALLOWED(403, "Tenant not allowed", "Only admin keys can act on another tenant."),
  NOT_FOUND(404, "Not found", "Not found in this tenant."),
  METHOD_NOT_ALLOWED(
      405,
      "Method not allowed",
      "The path does not support this method. The Allow header lists the methods it supports."),
  REQUEST_TIMEOUT(408, "Request timeout", "The request did not arrive in time."),
  ALREADY_TERMINAL(409, "Already terminal", "The task has already finished."),
  WRONG_STATE(
      409, "Wrong state", "The state of the task, redrive or backfill does not allow this."),
  TOO_MANY_REDRIVES(
      409, "Too many redrives", "The tenant has the maximum number of running redrives."),
  TOO_MANY_BACKFILLS(
      409, "Too many backfills", "The tenant has the maximum number of running backfills."),
  IDEMPOTENCY_PENDING(
      409, "Still running", "The first request with this Idempotency-Key is still running."),
  TYPE_IN_USE(
      409,
      "Type in use",
      "The type has pending or running tasks, or a schedule creates tasks of it."),
  STALE_VERSION(
      412,
      "Stale version",
      "The resource has changed: If-Match does not name its current version."),
  BODY_TOO_LARGE(413, "Body too large", "The body exceeds the size limit of this request."),
  PAYLOAD_TOO_LARGE(413, "Payload too large", "A payload has at most 256 KiB."),
  BATCH_TOO_LARGE(413, "Batch too large", "A batch has at most 100,000 tasks."),
  OUTPUT_TOO_LARGE(413, "Output too large", "An output has at most 64 KiB."),
  URI_TOO_LONG(414, "URI too long", "The request line is longer than 8 KiB."),
  UNSUPPORTED_MEDIA_TYPE(
      415,
      "Unsupported media type",
      "The Content-Type is missing or not supported by this endpoint."),
  ENCODING_NOT_SUPPORTED(
      415,
      "Encoding not supported",
      "Compressed bodies are not supported. Send the body without Content-Encoding."),
  REQUIRED_FIELD(422, "Required field", "A required field is missing."),
  INVALID_TYPE(422, "Invalid type", "A field has the wrong JSON type."),
  INVALID_VALUE(422, "Invalid value", "The value of a field is not allowed."),
  OUT_OF_RANGE(422, "Out of range", "A number or duration is outside its range."),
  TOO_LONG(422, "Too long", "A text or list is longer than allowed."),
  INVALID_DURATION(
      422, "Invalid duration", "Durations look like 500ms, 30s, 5m, 2h, 7d, or are ISO 8601."),
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
      "A field of the cron expression is invalid. The message says which one and why."),
  NEVER_FIRES(
      422,
      "Never fires",
      "The schedule never runs: no date matches the cron expression, or none lies between startAt"
          + " and endAt."),
  INTERVAL_TOO_SHORT(422, "Interval too short", "A schedule runs at most once a second."),
  TOO_MANY(
      422, "Too many", "The request asks for more items than one request can return or create."),
  EXCLUSIVE_FIELDS(422, "Exclusive fields", "Two fields that exclude each other are both set."),
  KEY_REQUIRED(422, "Key required", "A unique task needs a key."),
  FILTER_REQUIRED(422, "Filter required", "Set at least one filter field."),
  LIMIT_REACHED(
      422, "Limit reached", "The tenant has reached its limit of types, lanes, schedules or keys."),
  UNKNOWN_TYPE(422, "Unknown type", "The tenant is strict and this type is not configured."),
  TARGET_NOT_ALLOWED(422, "Target not allowed", "The target is not allowed. The errors say why."),
  SCHEME_OR_HOST(
      422, "Scheme or host", "A target's URL starts with http:// or https:// and a host."),
  INVALID_URL(422, "Invalid URL", "A target's URL has characters that must be percent-encoded."),
  USERINFO_NOT_ALLOWED(422, "User in URL", "A target's URL must not carry a user or password."),
  FRAGMENT_NOT_ALLOWED(422, "Fragment in URL", "A target's URL must not have a fragment."),
  HTTPS_REQUIRED(422, "HTTPS required", "Targets must use https here."),
  ADDRESS_NOT_ALLOWED(
      422,
      "Address not allowed",
      "Tasks must not be delivered to this host or address. An operator can allow it with"
          + " --allow-targets."),
  PORT_NOT_ALLOWED(422, "Port not allowed", "Tasks must not be delivered to this port."),
  RESERVED_HEADER(
      422, "Reserved header", "A target sets a header that is reserved for Carillon or HTTP."),
  HIDDEN_VALUE(
      422,
      "Hidden value",
      "A secret is sent as (hidden), but there is no stored value to keep. Send the secret"
          + " itself."),
  INVALID_SCHEMA(
      422,
      "Invalid schema",
      "The schema is not valid JSON Schema 2020-12, or uses a feature that is not supported."),
  REMOTE_REF(
      422,
      "Remote reference",
      "A schema has a reference to another document. Only references inside the schema are"
          + " supported."),
  SCHEMA_MISMATCH(422, "Schema mismatch", "The payload does not match the schema of its type."),
  ROLE_TOO_STRONG(
      403, "Role too strong", "A key cannot create a key with more permissions than its own."),
  IDEMPOTENCY_MISMATCH(
      422, "Another request", "The Idempotency-Key was already used for a different request."),
  TOO_MANY_STREAMS(
      429,
      "Too many streams",
      "The tenant has the maximum number of event streams on this node. Retry after"
          + " Retry-After."),
  HEADERS_TOO_LARGE(
      431,
      "Headers too large",
      "The request has more than 100 headers, or more than 16 KiB of headers."),
  INTERNAL(
      500, "Internal error", "The server failed. Find the reason in its log by the request id."),
  UNAVAILABLE(
      503, "Unavailable", "The database is unreachable or overloaded. Retry after Retry-After."),
  OVERLOADED(503, "Overloaded", "Too many requests at once. Retry after Retry-After."),
  HTTP_VERSION_NOT_SUPPORTED(
      505,
      "HTTP version not supported",
      "Use HTTP/1.1. HTTP/1.0 is supported except for event streams.");

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

  /** Finds the code of an error that another package reports. */
  public static Optional<ErrorCode> named(String code) {
    for (ErrorCode each : values()) {
      if (each.code().equals(code)) {
        return Optional.of(each);
      }
    }
    return Optional.empty();
  }
}
